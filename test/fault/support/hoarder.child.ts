import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import { LockService } from '../../../libs/distribute-lock/src/nest/lock.service.js';
import { parentProcess } from '../../support/parent-process.js';
import type { Messages } from '../../support/second-process.js';
import { openLocks } from './lock-engine.js';

/** Holds many locks, and reports the heap of one of them. Started with `--expose-gc`. */
const parent = parentProcess<Messages, { heap: number }>();
const { engine } = openLocks(process.env['LOCK_URL']!);
const locks = new LockService(() => engine);
const LOCKS = 20_000;
const AT_ONCE = 500;

const keys = Array.from({ length: LOCKS }, (_, i) => `order:${String(i).padStart(6, '0')}`);
const held: (Lease | null)[] = keys.map(() => null);

async function take(count: number): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const got = await Promise.all(keys.slice(from, from + AT_ONCE).map((key) => locks.acquire(key, { ttl: '10m' })));
    got.forEach((lease, i) => (held[from + i] = lease));
  }
}

function heap(): number {
  for (let i = 0; i < 3; i += 1) globalThis.gc!();
  return process.memoryUsage().heapUsed;
}

// The first locks also compile code.
await take(4 * AT_ONCE);
await Promise.all(held.slice(0, 4 * AT_ONCE).map((lease) => lease!.release()));
held.fill(null);
const before = heap();
await take(LOCKS);
parent.send('heap', (heap() - before) / LOCKS);
