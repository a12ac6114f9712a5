import { setImmediate as turn } from 'node:timers/promises';

import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import { LockService } from '../../../libs/distribute-lock/src/nest/lock.service.js';
import { parentProcess } from '../../support/parent-process.js';
import type { Messages } from '../../support/second-process.js';
import { openLocks } from './lock-engine.js';

/** What a forgetful process reports about each of its leases. */
export interface Forgotten {
  readonly name: string;
  readonly reason: string | undefined;
  readonly message: string | undefined;
}

/** Forgets some leases and keeps others, and collects garbage until the forgotten ones have ended. Started with `--expose-gc`. */
const parent = parentProcess<Messages, { lost: Forgotten; kept: boolean; collected: undefined }>();
const { engine, events } = openLocks(process.env['LOCK_URL']!);
const locks = new LockService(() => engine);
/** A lease is watched from its first renewal on, at a third of its ttl. */
const TTL = '3s';
const aborted: AbortSignal[] = [];

async function forget(): Promise<void> {
  // A race that another promise wins, an error between acquire and try, and an iteration that ended.
  await Promise.race([locks.acquire('race', { name: 'race', ttl: TTL }), Promise.resolve()]);
  await locks.acquire('error', { name: 'error', ttl: TTL }).then(({ signal }) => void aborted.push(signal));
  await locks.acquire(['one', 'two'], { name: 'two keys', ttl: TTL });
  await locks.acquire('read', { name: 'reader', kind: 'read', ttl: TTL });
  await locks.acquire('permits', { name: 'permits', kind: 'semaphore', permits: 2, ttl: TTL });
}

const kept: Lease = await locks.acquire('kept', { name: 'kept', ttl: TTL });
const released = await locks.acquire('released', { name: 'released' });
await released.release();
await forget();
const expected = 6; // two for the multi-key lease
const lost = () => events.filter(({ type }) => type === 'lost');
while (lost().length < expected) {
  globalThis.gc!();
  await turn();
}
for (const { name, reason, error } of lost()) parent.send('lost', { name, reason, message: error?.message });
parent.send('kept', kept.isHeld() && aborted.every((signal) => signal.aborted));
parent.send('collected', undefined);
