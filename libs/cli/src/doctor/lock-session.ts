import { randomUUID } from 'node:crypto';

import type { AcquireOptions, OpenedLocks } from 'nestjs-distribute-lock/core';

import { type Core, loadCore } from '../connection.js';
import type { LockLayout } from '../../../distribute-lock/src/store/redis/layout.js';
import { keyOn, type Server, type Target } from './target.js';

const SILENT = { debug: () => undefined, log: () => undefined, warn: () => undefined };

/** Locks on random keys, opened when a check needs them. */
export class LockSession {
  private readonly opened: Promise<OpenedLocks>[] = [];
  private core: Promise<Core> | undefined;

  constructor(
    private readonly target: Target,
    private readonly layout: LockLayout,
  ) {}

  /** A key that no other program uses. */
  static key(): string {
    return `doctor:${randomUUID()}`;
  }

  /** A random key that the server stores. */
  keyOn(server: Server): Promise<string> {
    return keyOn(this.target, server, LockSession.key());
  }

  /** The locks of one process. Two numbers are two processes, whose locks exclude each other. */
  async of(process: number): Promise<OpenedLocks> {
    const { createLocks } = await (this.core ??= loadCore());
    const { prefix, place } = this.target;
    this.opened[process] ??= createLocks({
      connection: place,
      prefix,
      layout: this.layout,
      log: SILENT,
    });
    return this.opened[process];
  }

  /** Acquires, renews and releases a lock, and returns its fencing token. */
  async cycle(options: AcquireOptions): Promise<number> {
    const locks = await this.of(0);
    const lease = await locks.acquire(LockSession.key(), { name: 'doctor', ttl: '20s', wait: '5s', ...options });
    try {
      await lease.extend('30s');
      return lease.fencingToken;
    } finally {
      await lease.release();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.map((locks) => locks.then((open) => open.close()).catch(() => undefined)));
  }
}
