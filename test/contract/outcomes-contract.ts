import { eventually } from '../support/eventually.js';
import { startProcess, type World } from './world.js';

/** What events and errors report about calls and leases. */
export function describeOutcomesContract(makeWorld: () => World): void {
  const world = makeWorld();
  const here = startProcess(world);
  let count = 0;
  const newKey = (): string => `outcomes-${(count += 1)}`;

  it('reports how long a call waited and held, never less than 0 and never more than it took', async () => {
    const key = newKey();
    for (let i = 0; i < 300; i += 1) {
      here.events.length = 0;
      const askedAt = performance.now();
      const lease = await here.acquire(key);
      const grantedAt = performance.now();
      await lease.release();
      const tookMs = performance.now() - askedAt;
      const [acquired, released] = here.events;
      expect(acquired?.waitedMs).toBeGreaterThanOrEqual(0);
      expect(acquired?.waitedMs).toBeLessThanOrEqual(grantedAt - askedAt);
      expect(released?.heldMs).toBeGreaterThanOrEqual(0);
      expect(released?.heldMs).toBeLessThanOrEqual(tookMs);
    }
  });

  it('reports a deleted key and a key of another owner as different reasons of a loss', async () => {
    const [deleted, taken] = await Promise.all([newKey(), newKey()].map((key) => here.acquire(key, { ttl: 300 })));
    await world.overwrite(deleted.key, undefined);
    await world.overwrite(taken.key, 'stranger', 60_000);
    await eventually(() => expect([deleted, taken].map(({ signal }) => signal.aborted)).toEqual([true, true]));
    expect(deleted.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'deleted' });
    expect(taken.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'taken' });
    await world.overwrite(taken.key, undefined);
  });
}
