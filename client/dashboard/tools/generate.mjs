// Writes src/gen/: TypeScript of the contract in proto/, by protoc (Debian's protobuf-compiler) and protoc-gen-es.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const room = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const protos = resolve(room, '../../proto');
const files = ['job', 'metric', 'live', 'log', 'spec', 'checkpoint', 'system'];

// Two builds may run at once, so the files are made aside and put in place by one rename each.
const aside = mkdtempSync(join(room, '.gen-'));
try {
  const done = spawnSync(
    process.env.PROTOC ?? 'protoc',
    [
      `--plugin=protoc-gen-es=${join(room, 'node_modules/.bin/protoc-gen-es')}`,
      `--es_out=${aside}`,
      '--es_opt=target=ts',
      `--proto_path=${protos}`,
      ...files.map((name) => `ddp/v1/${name}.proto`),
    ],
    { stdio: 'inherit' },
  );
  if (done.error) throw new Error(`protoc cannot be run (${done.error.message}): install Debian's protobuf-compiler`);
  if (done.status !== 0) process.exit(done.status ?? 1);
  const target = join(room, 'src/gen/ddp/v1');
  mkdirSync(target, { recursive: true });
  for (const name of files) {
    const made = join(aside, 'ddp/v1', `${name}_pb.ts`);
    const old = join(target, `${name}_pb.ts`);
    let same = false;
    try {
      same = readFileSync(old, 'utf8') === readFileSync(made, 'utf8');
    } catch {
      // Not there yet.
    }
    if (!same) renameSync(made, old);
  }
} finally {
  rmSync(aside, { recursive: true, force: true });
}
