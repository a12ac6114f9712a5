import type { LeaseLossReason } from '../../libs/distribute-lock/src/errors.js';
import type { LeaseHandle } from '../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import type { AcquireOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { type Locks, PREFIX } from './support/lock-engine.js';
import { monotonicMs } from '../support/monotonic.js';
import { useLockWorld } from './support/use-lock-world.js';

interface Loss {
  readonly reason: LeaseLossReason;
  readonly says: RegExp;
  readonly options?: AcquireOptions;
  cause?(lease: LeaseHandle, locks: Locks): unknown;
}

describe('A lost lease', () => {
  const world = useLockWorld();

  const losses: Record<string, Loss> = {
    'an event loop that is blocked': {
      reason: 'blocked',
      says: /the event loop was blocked, or the process stopped, for at least (?<ms>\d+) ms/,
      cause: () => {
        const until = monotonicMs() + 500;
        while (monotonicMs() < until);
      },
    },
    '"renew: false"': {
      reason: 'expired',
      says: /its ttl of 300 ms has passed, and "renew" is false/,
      options: { renew: false },
    },
    '"maxHold"': { reason: 'maxHold', says: /"maxHold" \(100 ms\) has passed/, options: { maxHold: 100 } },
    'a deleted key': {
      reason: 'deleted',
      says: /its key no longer exists in Redis/,
      options: { ttl: 3_000 },
      cause: ({ key }) => world.client.del(PREFIX + key),
    },
    'a key of another owner': {
      reason: 'taken',
      says: /its key in Redis belongs to another owner/,
      options: { ttl: 3_000 },
      cause: ({ key }) => world.client.set(PREFIX + key, 'stranger', 'PX', 60_000),
    },
    forceRelease: {
      reason: 'forced',
      says: /forceRelease\(\) or steal\(\) took the lock away/,
      // Without a renewal before the message.
      options: { ttl: '30s' },
      cause: ({ key }, locks) => locks.engine.forceRelease(key),
    },
    steal: {
      reason: 'forced',
      says: /forceRelease\(\) or steal\(\) took the lock away/,
      options: { ttl: '30s' },
      cause: ({ call }) => world.locks().engine.steal({ ...call, scoped: false }),
    },
  };

  it.each(Object.entries(losses))('by %s has a specific reason and message', async (_, loss) => {
    const locks = world.locks();
    const lease = await locks.acquire(world.newKey(), { ttl: 300, ...loss.options });
    const causedAt = monotonicMs();
    await loss.cause?.(lease, locks);
    const ms = await lost(lease, locks, loss);
    if (ms === undefined) return;
    expect(ms).toBeGreaterThanOrEqual(300);
    expect(ms).toBeLessThanOrEqual(monotonicMs() - causedAt);
  });

  it('by an outage of Redis has a specific reason and message', async () => {
    const proxy = await world.proxy();
    const locks = world.locks(proxy.url);
    const lease = await locks.acquire(world.newKey(), { ttl: 3_000 });
    proxy.hold();
    await lost(lease, locks, { reason: 'outage', says: /Redis did not confirm a renewal within its ttl of 3000 ms/ });
  });

  async function lost(
    { signal, call }: LeaseHandle,
    { events }: Locks,
    { reason, says }: Loss,
  ): Promise<number | undefined> {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    const { message } = signal.reason as Error;
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason });
    expect(message).toMatch(says);
    expect(events.findLast(({ type }) => type === 'lost')).toMatchObject({ name: call.name, reason });
    const ms = says.exec(message)?.groups?.['ms'];
    return ms === undefined ? undefined : Number(ms);
  }
});
