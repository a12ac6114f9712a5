import { LateAnswers } from '../../../../../test/support/held-up-store.js';
import { twoProcesses } from '../../../../../test/support/manual-world.js';

describe('LeaseHandle', () => {
  it('makes changes one at a time, each on the result of the previous one', async () => {
    const { clock, here } = twoProcesses();
    const lease = await here.acquire('k', { ttl: '30s', renew: false });
    const late = new LateAnswers();
    let sent = 0;
    here.detours.renew = (send) => {
      sent += 1;
      return late.detour(send);
    };
    const changes = ['40s', '60s'].map((ttl) => lease.extend(ttl as '40s'));
    await clock.pass(1);
    expect([sent, lease.isChanging]).toEqual([1, true]);
    late.arrive();
    await clock.pass(1);
    expect(sent).toBe(2);
    late.arrive();
    await Promise.all(changes);
    expect(lease.isChanging).toBe(false);
    expect(lease.remainingMs()).toBeGreaterThan(59_000);
  });

  it('releases once, and rejects changes afterwards', async () => {
    const { here, there } = twoProcesses();
    const lease = await here.acquire('k');
    await Promise.all([lease.release(), lease.release()]);
    expect(here.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
    await expect(lease.extend()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'released' });
    await (await there.acquire('k')).release();
  });

  it('stays held until the last nested call has ended', async () => {
    const { here, there } = twoProcesses();
    const lease = await here.acquire('k', { ttl: '30s' });
    lease.nest(lease.call);
    await lease.release();
    expect([lease.isHeld(), lease.isProven()]).toEqual([false, true]);
    await expect(there.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await lease.unnest(lease.call);
    await (await there.acquire('k')).release();
  });

  it('keeps the handle of the application until its first renewal only', async () => {
    const { clock, here } = twoProcesses();
    const lease = await here.acquire('k', { ttl: '30s' });
    lease.handle = {};
    await clock.pass(9_900);
    expect(lease.handle).toBeDefined();
    await clock.pass(200);
    expect(lease.handle).toBeUndefined();
    await lease.release();
  });

  it('ends when the application has forgotten it, unless it was released and a nested call holds it', async () => {
    const { here, there } = twoProcesses();
    const [forgotten, released] = [await here.acquire('a'), await here.acquire('b')];
    released.nest(released.call);
    await released.release();
    for (const lease of [forgotten, released]) lease.forgotten();
    expect(forgotten.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'forgotten' });
    expect(released.isProven()).toBe(true);
    await released.unnest(released.call);
    expect(here.events.filter(({ type }) => type === 'lost')).toHaveLength(1);
    await (await there.acquire('a')).release();
  });
});
