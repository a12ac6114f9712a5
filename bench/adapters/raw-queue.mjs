import { setTimeout as sleep } from 'node:timers/promises';

import { RawLocks } from './raw.mjs';

const POLL_MS = 1;

/** A FIFO of callers for each key in the process; its head asks for the lock with the bare commands until it has it. */
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

/** What one would write by hand: a queue in the process before the bare commands, polling between processes. */
export const adapter = {
  client: 'ioredis 6',
  sends: ['set', 'evalsha'],
  async open({ url }) {
    const locks = new QueuedLocks(await RawLocks.open(url));
    return { acquire: (key) => locks.acquire(key), release: (held) => locks.release(held) };
  },
};
