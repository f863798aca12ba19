import { defineConfig } from 'vitest/config';

// `npm run dev` serves the page itself and hands every call on to a daemon: DDPD=http://127.0.0.1:PORT npm run dev
const daemon = process.env.DDPD ?? 'http://127.0.0.1:7070';

export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    // The policy of the gateway allows no inline code, and data: only for images.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    sourcemap: false,
  },
  server: { proxy: { '^/ddp\\.v1\\.': { target: daemon, changeOrigin: true, headers: { origin: daemon } } } },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
