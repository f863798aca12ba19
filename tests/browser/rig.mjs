// A private daemon and a Chromium for the tests of the dashboard. What the page must never do fails the test that did it:
// an error in the console, a violation of the content policy, a request to anywhere but the daemon.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const BIN = process.env.DDP_BIN;
if (!BIN) throw new Error('DDP_BIN is not set: the folder with ddpd and ddpctl');
export const ROOT = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '../..');
const require = createRequire(path.join(ROOT, 'client/dashboard/package.json'));
const { chromium } = require('playwright-core');
export const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export async function poll(condition, what, timeout = 30_000) {
  for (const end = Date.now() + timeout; Date.now() < end; ) {
    const value = await condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`not within ${timeout / 1000} s: ${what}`);
}

export class Daemon {
  static async start(slots = 2) {
    const daemon = new Daemon();
    daemon.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ddpd-browser-'));
    daemon.home = path.join(daemon.folder, 'home');
    daemon.slots = slots;
    daemon.web = '127.0.0.1:0';
    await daemon.run();
    // Jobs outlive their daemon on purpose: a test that is stopped takes them with it.
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void daemon.close().finally(() => process.exit(1)));
    return daemon;
  }

  get token() {
    return fs.readFileSync(path.join(this.home, 'token'), 'utf8').trim();
  }

  async run() {
    fs.mkdirSync(this.home, { recursive: true, mode: 0o700 });
    fs.rmSync(path.join(this.home, 'address'), { force: true });
    const log = fs.openSync(path.join(this.folder, 'ddpd.log'), 'a');
    this.env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DDPD_')));
    this.env.DDPD_HOME = this.home;
    const flags = ['--home', this.home, '--cpu-slots', String(this.slots), '--web', this.web];
    this.process = spawn(path.join(BIN, 'ddpd'), flags, { env: this.env, stdio: ['ignore', log, log] });
    fs.closeSync(log);
    await poll(() => fs.existsSync(path.join(this.home, 'address')) || this.process.exitCode !== null, 'ddpd publishes its address');
    assert.equal(this.process.exitCode, null, fs.readFileSync(path.join(this.folder, 'ddpd.log'), 'utf8'));
    this.url = fs.readFileSync(path.join(this.home, 'web-address'), 'utf8').trim();
    // The same port after a restart: the page that is open must find it again.
    this.web = new URL(this.url).host;
  }

  async kill() {
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }

  async ctl(...args) {
    const { stdout } = await promisify(execFile)(path.join(BIN, 'ddpctl'), ['--no-autostart', ...args.map(String)], {
      env: this.env,
      maxBuffer: 1 << 28,
    });
    return stdout;
  }

  async submit(...args) {
    for (let tries = 0; ; ++tries) {
      try {
        return (await this.ctl('submit', ...args)).trim();
      } catch (error) {
        // A machine that is busy with other things may be too slow to look at a spec in time; no job has been made.
        if (tries === 3 || !/did not end within/.test(error.stderr)) throw error;
      }
    }
  }

  // A small classification of three columns; `flags` say how long it takes.
  trainable(...flags) {
    const file = path.join(this.folder, 'points.csv');
    if (!fs.existsSync(file)) {
      // A fixed row of numbers: (i * 7919 mod 1000) / 1000 - 0.5 is spread evenly.
      const row = (i) => [i * 7919, i * 104729, i * 1299709].map((v) => ((v % 1000) / 1000 - 0.5).toFixed(3));
      const rows = Array.from({ length: 2000 }, (_, i) => row(i + 1)).map((v) => [...v, v[0] * v[1] > 0 ? 'yes' : 'no'].join(','));
      fs.writeFileSync(file, `a,b,c,label\n${rows.join('\n')}\n`);
    }
    return this.submit('--mode', 'finetune', '--data', file, '--feature-columns', 'a,b,c', '--label-column', 'label', '--nproc', 1, ...flags);
  }

  async job(id) {
    return JSON.parse(await this.ctl('get', id, '-o', 'json'));
  }

  async state(id) {
    return (await this.job(id)).state.replace('JOB_STATE_', '');
  }

  async waitState(id, state, timeout) {
    await poll(async () => (await this.state(id)) === state, `${id} is ${state}`, timeout);
  }

  // [step, value] of every point, as ddpctl prints them.
  async points(id, series) {
    const [, ...rows] = (await this.ctl('metrics', id, '--csv', '--series', series)).trim().split('\n');
    return rows.map((row) => row.split(',')).map((cells) => [Number(cells[2]), Number(cells[4])]);
  }

  async close() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) await this.run();
    for (const job of JSON.parse(await this.ctl('list', '-o', 'json')).jobs) {
      if (!/SUCCEEDED|FAILED|CANCELLED|PAUSED/.test(job.state)) await this.ctl('cancel', '--force', job.id).catch(() => {});
    }
    const gone = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    const [code] = await gone;
    assert.equal(code, 0);
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function openBrowser() {
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath, args });
}

// A page that notes what it must not do. `forgive`: a pattern of console lines that the test provokes.
export async function openPage(context, daemon, place, forgive) {
  const page = await context.newPage();
  page.faults = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !forgive?.test(message.text())) page.faults.push(message.text());
  });
  page.on('pageerror', (error) => page.faults.push(String(error.stack)));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.origin !== daemon.url) page.faults.push(`asked ${url.origin}`);
    if (request.url().includes(daemon.token)) page.faults.push(`the token is in ${url.pathname}`);
  });
  await page.goto(`${daemon.url}/#token=${daemon.token}&${place}`);
  return page;
}

// The card of one chart, once its data is there.
export async function chart(page, title) {
  const card = page.locator(`section.chart[aria-label="${title}"]`);
  // What is far away is only a placeholder, which the chart replaces once it is near.
  await card.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  await card.locator('.plot canvas').waitFor();
  return card;
}

// What the chart of one line draws: [x, raw value] without gaps. Columns: x, low, high, raw, smooth.
export function drawn(card) {
  return card.locator('.plot').evaluate((host) => {
    const [x, , , raw] = host.plot.data;
    return [...x].map((value, i) => [value, raw?.[i]]).filter(([, y]) => y !== null && y !== undefined);
  });
}

export function range(card) {
  return card.locator('.plot').evaluate((host) => [host.plot.scales.x.min, host.plot.scales.x.max]);
}
