import { ManualClock } from '../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { runHolding } from './lease/held-leases.js';

describe('A nested writer', () => {
  const usage = { code: 'LOCK_USAGE' };
  const nested = { kind: 'write', reentrant: true } as const;
  const start = async () => {
    const { acquire } = new ManualWorld(new ManualClock()).process();
    const lease = await acquire('k', { kind: 'write' });
    return { lease, write: () => runHolding(lease, () => acquire('k', nested)) };
  };

  it('prevents the downgrade of its lease until it has ended', async () => {
    const { lease, write } = await start();
    const inner = await write();
    await expect(lease.downgrade()).rejects.toMatchObject(usage);
    expect(lease.kind).toBe('exclusive');
    await inner.release();
    await lease.downgrade();
    expect(lease.kind).toBe('read');
  });

  it('is refused during a downgrade', async () => {
    const { lease, write } = await start();
    const downgraded = lease.downgrade();
    await expect(write()).rejects.toMatchObject(usage);
    await downgraded;
  });
});

describe('The last nested call', () => {
  it('releases the lease that its outer call has left', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    const outer = await here.acquire('k');
    const nest = () => runHolding(outer, () => here.acquire('k', { reentrant: true }));
    const [first, last] = [await nest(), await nest()];
    await outer.release();
    await first.release();
    await expect(there.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await last.release();
    expect((await there.acquire('k')).isHeld()).toBe(true);
  });
});
