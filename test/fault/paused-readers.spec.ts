import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../support/eventually.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

const TTL_MS = 6_000;
const HALF_A_MINUTE = '30s';

describe('P27: a reader that entered the lease of another reader of its process', () => {
  const world = useLockWorld();

  it('keeps the lock through a pause of 0.6 of its ttl', async () => {
    const reading = await world.process();
    const key = world.newKey();
    const first = await reading.do('acquire', { key, kind: 'read', ttl: TTL_MS });
    await sleep(TTL_MS / 4);
    const second = await reading.do('acquire', { key, kind: 'read', ttl: TTL_MS });
    await reading.do('release', { lease: first.lease });
    // The rest of the lease is shortest just before its renewal.
    await sleep(TTL_MS / 4.5);
    const writer = world.locks();
    const written = writer
      .acquire(key, { kind: 'write', wait: HALF_A_MINUTE })
      .then((lease) => ({ lease, at: monotonicMs() }));
    await eventually(async () => expect(await world.waiting(key)).toBe(1));
    const paused = await reading.do('block', { ms: 0.6 * TTL_MS, lease: second.lease });
    expect(paused.held).toBe(true);
    await reading.do('release', { lease: second.lease });
    const { lease, at } = await written;
    expect(at).toBeGreaterThan(paused.at);
    await lease.release();
  });
});
