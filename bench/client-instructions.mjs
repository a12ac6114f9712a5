/**
 * `npm run bench:client-instructions`: the instructions of the client for an acquire and release, step by step from the bare
 * commands to a decorated method, counted by valgrind in the main thread. The compiler and most of the garbage collector run in
 * other threads.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { median } from './measuring/figures.mjs';
import { RedisServer } from './measuring/redis-server.mjs';
import { table } from './measuring/report.mjs';

const CLIENT = fileURLToPath(new URL('measuring/counted-client.main.mjs', import.meta.url));
/** The median excludes a window in which the runtime replaces a function by its unoptimized form. */
const WINDOWS = 3;
const CYCLES = 1_500;
const LOOPS = [1, 16];
const STEPS = [
  ['bare', 'bare commands over ioredis'],
  ['engine', 'lock engine and store'],
  ['acquire', '`acquire()` and `release()`'],
  ['withLock', '`withLock()`'],
  ['decorated', 'decorated method'],
];
/** The hash tables of the runtime have the same order in each run. */
const SAME_SEED = ['--random-seed=7', '--hash-seed=7'];

/** Thousands of instructions for one cycle. */
async function counted(step, loops) {
  const folder = mkdtempSync(join(tmpdir(), 'client-instructions-'));
  const server = await RedisServer.start();
  try {
    const valgrind = ['--tool=callgrind', '--separate-threads=yes', `--callgrind-out-file=${join(folder, 'out')}`];
    const client = [
      process.execPath,
      ...SAME_SEED,
      CLIENT,
      step,
      String(loops),
      String(WINDOWS),
      String(CYCLES),
      server.url,
    ];
    const child = spawn('valgrind', [...valgrind, ...client], { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (text) => (errors += text));
    await once(child, 'close');
    // The first file has the instructions before the cycles that count.
    const files = Array.from({ length: WINDOWS }, (_, i) => join(folder, `out.${i + 2}-01`));
    const counts = files.map((file) => Number(/^(?:summary|totals): (\d+)/m.exec(textOf(file))?.[1]));
    if (!counts.every((count) => count > 0)) throw new Error(`valgrind reports no count of ${step}: ${errors}`);
    return Math.round(median(counts) / CYCLES / 100) / 10;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Empty when valgrind has written nothing. */
function textOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const rows = [];
for (const [step, name] of STEPS) {
  const counts = [];
  for (const loops of LOOPS) counts.push(await counted(step, loops));
  rows.push([name, ...counts]);
}
console.log(table(['thousands of instructions', ...LOOPS.map((loops) => `${loops} at a time`)], rows));
