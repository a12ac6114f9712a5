import { createLocks } from 'nestjs-distribute-lock/core';

import { parentProcess } from '../support/parent-process.js';

/** A program with its own scheduler, which is due every 100 ms by a clock that may be wrong, on an event loop that is blocked at random. */
const INTERVAL_MS = 100;
const parent = parentProcess<{ stop: undefined }>();
const locks = await createLocks({ connection: process.env['REDIS_URL'], prefix: process.env['PREFIX']! });
const running = new Set<Promise<unknown>>();
let stopped = false;

function due(): void {
  const now = Date.now();
  const instant = Math.floor(now / INTERVAL_MS) * INTERVAL_MS;
  const tick = { instant: new Date(instant), intervalMs: INTERVAL_MS };
  const run = locks.onceAt('fast', tick, { wait: '10s' }, () => parent.send('ran', instant));
  running.add(run);
  void run.finally(() => running.delete(run));
  if (!stopped) setTimeout(due, instant + INTERVAL_MS - now);
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
