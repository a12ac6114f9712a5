import { setTimeout as sleep } from 'node:timers/promises';

import { RawLocks } from './raw.mjs';

const POLL_MS = 1;

/** A FIFO queue of callers per key in the process. Its head repeats the bare commands until it has the lock. */
class QueuedLocks {
  queues = new Map();

  constructor(locks) {
    this.locks = locks;
  }

  async acquire(key) {
    const queue = this.queues.get(key);
    if (queue === undefined) this.queues.set(key, []);
    else await new Promise((resolve) => queue.push(resolve));
    for (;;) {
      const held = await this.locks.try(key);
      if (held !== undefined) return held;
      await sleep(POLL_MS);
    }
  }

  async release(held) {
    await this.locks.release(held);
    const next = this.queues.get(held.key).shift();
    if (next === undefined) this.queues.delete(held.key);
    else next();
  }
}

/** A hand-written lock: a queue in the process in front of the bare commands, and polling between processes. */
export const adapter = {
  client: 'ioredis 6',
  sends: ['set', 'evalsha'],
  async open({ url }) {
    const locks = new QueuedLocks(await RawLocks.open(url));
    return { acquire: (key) => locks.acquire(key), release: (held) => locks.release(held) };
  },
};
