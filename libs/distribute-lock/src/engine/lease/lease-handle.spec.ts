import { ManualClock } from '../../../../../test/support/manual-clock.js';
import { ManualWorld } from '../../../../../test/support/manual-world.js';

const start = () => {
  const clock = new ManualClock();
  const world = new ManualWorld(clock);
  return { clock, here: world.process(), there: world.process() };
};

describe('LeaseHandle', () => {
  it('makes changes one at a time, each on the result of the previous one', async () => {
    const { clock, here } = start();
    const lease = await here.acquire('k', { ttl: '30s', renew: false });
    const order: string[] = [];
    const changes = [
      lease.extend('40s').then(() => order.push('40s')),
      lease.extend('60s').then(() => order.push('60s')),
    ];
    expect(lease.isChanging).toBe(true);
    await clock.pass(1);
    await Promise.all(changes);
    expect(order).toEqual(['40s', '60s']);
    expect(lease.isChanging).toBe(false);
    expect(lease.remainingMs()).toBeGreaterThan(59_000);
  });

  it('releases once, and rejects changes afterwards', async () => {
    const { here, there } = start();
    const lease = await here.acquire('k');
    await Promise.all([lease.release(), lease.release()]);
    expect(here.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
    await expect(lease.extend()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'released' });
    await (await there.acquire('k')).release();
  });

  it('stays held until the last nested call has ended', async () => {
    const { here, there } = start();
    const lease = await here.acquire('k', { ttl: '30s' });
    lease.nest(lease.call);
    await lease.release();
    expect([lease.isHeld(), lease.isProven()]).toEqual([false, true]);
    await expect(there.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.unnest(lease.call);
    await (await there.acquire('k')).release();
  });

  it('keeps the handle of the application until its first renewal only', async () => {
    const { clock, here } = start();
    const lease = await here.acquire('k', { ttl: '30s' });
    lease.handle = {};
    await clock.pass(9_900);
    expect(lease.handle).toBeDefined();
    await clock.pass(200);
    expect(lease.handle).toBeUndefined();
    await lease.release();
  });

  it('ends when the application has forgotten it, unless it was released', async () => {
    const { here, there } = start();
    const [forgotten, released] = [await here.acquire('a'), await here.acquire('b')];
    await released.release();
    for (const lease of [forgotten, released]) lease.forgotten();
    expect(forgotten.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'forgotten' });
    expect(released.signal.aborted).toBe(false);
    expect(here.events.filter(({ type }) => type === 'lost')).toHaveLength(1);
    await (await there.acquire('a')).release();
  });
});
