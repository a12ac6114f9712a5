import { createLocks } from 'nestjs-distribute-lock/core';

import { parentProcess } from '../../support/parent-process.js';

/**
 * A program with its own scheduler, which is due every 100 ms by a clock that may be wrong, on an event loop that is blocked at random.
 * It is late after a block, and leaves no instant out: otherwise a busy machine could block all programs at once.
 */
const INTERVAL_MS = 100;
const parent = parentProcess<{ stop: undefined }>();
const locks = await createLocks({ connection: process.env['REDIS_URL'], prefix: process.env['PREFIX']! });
const running = new Set<Promise<unknown>>();
let stopped = false;

let next = Math.floor(Date.now() / INTERVAL_MS) * INTERVAL_MS;

function due(): void {
  for (; next <= Date.now(); next += INTERVAL_MS) runAt(next);
  if (!stopped) setTimeout(due, next - Date.now());
}

function runAt(instant: number): void {
  const tick = { instant: new Date(instant), intervalMs: INTERVAL_MS };
  const run = locks.onceAt('fast', tick, { wait: '10s' }, () => parent.send('ran', instant));
  running.add(run);
  void run.finally(() => running.delete(run));
}

const blocked = setInterval(() => {
  const until = performance.now() + Math.random() * 300;
  while (performance.now() < until);
}, 700);
parent.on('stop', () => {
  stopped = true;
  clearInterval(blocked);
  setTimeout(() => {
    void Promise.allSettled(running).then(async () => {
      await locks.close();
      process.disconnect();
    });
  }, INTERVAL_MS);
});
due();
parent.send('ready', undefined);
