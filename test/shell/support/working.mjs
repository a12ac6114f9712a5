/**
 * `node working.mjs FILE [--ignore-term]`: a command that works until a signal ends it. It writes the times of its begin and of its
 * last act into FILE, so that no observer has to measure them.
 */
import { openSync, writeSync } from 'node:fs';

const [file, ignores] = process.argv.slice(2);
if (ignores === '--ignore-term') process.on('SIGTERM', () => undefined);

const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;
const beganAt = monotonicMs();
const descriptor = openSync(file, 'w');
const pause = new Int32Array(new SharedArrayBuffer(4));
for (;;) {
  const facts = JSON.stringify({ pid: process.pid, beganAt, lastAt: monotonicMs(), lastWallMs: Date.now() });
  writeSync(descriptor, `${facts.padEnd(160)}\n`, 0);
  Atomics.wait(pause, 0, 0, 4);
}
