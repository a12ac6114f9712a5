import { twoProcesses } from '../../../../test/support/manual-world.js';

const READ = { kind: 'read', ttl: '30s' } as const;

describe('Readers of one process', () => {
  it('share one lease and its fencing token, and the last one releases it', async () => {
    const { here, there } = twoProcesses();
    const readers = [await here.acquire('k', READ), await here.acquire('k', READ)];
    expect(readers[0].grant).toBe(readers[1].grant);
    expect(readers[0].fencingToken).toBe(readers[1].fencingToken);
    await readers[0].release();
    await expect(there.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await readers[1].release();
    await (await there.acquire('k')).release();
  });

  it('enter behind a writer that waits, unless they hold a lease', async () => {
    const { clock, here, there } = twoProcesses();
    const reader = await here.acquire('k', READ);
    const order: string[] = [];
    const writing = there.acquire('k', { kind: 'write', wait: '20s' }).then((lease) => (order.push('writer'), lease));
    await clock.pass(5);
    const late = here.acquire('k', { ...READ, wait: '20s' }).then((lease) => (order.push('reader'), lease));
    await clock.pass(5);
    expect(order).toEqual([]);
    await reader.release();
    await clock.pass(20);
    await (await writing).release();
    await clock.pass(20);
    await (await late).release();
    expect(order).toEqual(['writer', 'reader']);
  });

  it('get the lease of a writer that is downgraded', async () => {
    const { clock, here, there } = twoProcesses();
    const lease = await here.acquire('k', { kind: 'write', ttl: '30s' });
    const downgrading = lease.downgrade();
    await clock.pass(1);
    await downgrading;
    const reader = await here.acquire('k', READ);
    expect(reader.grant).toBe(lease.grant);
    await expect(there.acquire('k')).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await (await there.acquire('k', READ)).release();
    for (const each of [lease, reader]) await each.release();
  });
});
