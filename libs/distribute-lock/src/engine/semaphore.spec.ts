import { twoProcesses } from '../../../../test/support/manual-world.js';

const permits = (count: number, weight = 1) => ({ kind: 'semaphore', permits: count, weight, ttl: '30s' }) as const;

describe('A semaphore', () => {
  it('grants permits up to their number, over all processes and weights', async () => {
    const { here, there } = twoProcesses();
    const [two, one] = [await here.acquire('k', permits(3, 2)), await there.acquire('k', permits(3))];
    await expect(here.acquire('k', permits(3))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await one.release();
    await expect(there.acquire('k', permits(3, 2))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    await (await there.acquire('k', permits(3))).release();
    await two.release();
    await (await there.acquire('k', permits(3, 3))).release();
  });

  it('gives each holder its own lease and a larger fencing token', async () => {
    const { here, there } = twoProcesses();
    const leases = [];
    for (const process of [here, there, here]) leases.push(await process.acquire('k', permits(3)));
    expect(new Set(leases.map(({ grant }) => grant)).size).toBe(3);
    const tokens = leases.map(({ fencingToken }) => fencingToken);
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
    expect(new Set(tokens).size).toBe(3);
    for (const lease of leases) await lease.release();
  });

  it('refuses another number of permits while this process uses the key', async () => {
    const { here } = twoProcesses();
    const lease = await here.acquire('k', permits(2));
    await expect(here.acquire('k', permits(3))).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    await lease.release();
    await (await here.acquire('k', permits(3))).release();
  });

  it('requests no fencing tokens for later callers while this process holds every permit', async () => {
    const { clock, world } = twoProcesses();
    const here = world.process({}, 100);
    const holder = await here.acquire('k', permits(1));
    const hold = async (): Promise<void> => {
      const lease = await here.acquire('k', { ...permits(1), wait: '20s' });
      await new Promise<void>((resolve) => void clock.after(1, resolve));
      await lease.release();
    };
    const holds = Array.from({ length: 3 }, hold);
    await clock.pass(5);
    await holder.release();
    let requests = 0;
    here.detours.acquire = (send) => {
      requests += 1;
      return send();
    };
    for (let i = 0; i < 70; i += 1) {
      if (i < 30) holds.push(hold());
      await clock.pass(1);
      clock.turn();
    }
    await Promise.all(holds);
    // The first block has only a number for each of the first three callers.
    expect(requests).toBe(1);
  });

  it('serves a heavy caller before a light one that came later', async () => {
    const { clock, here, there } = twoProcesses();
    const held = [await here.acquire('k', permits(2)), await here.acquire('k', permits(2))];
    const order: string[] = [];
    const heavy = there.acquire('k', { ...permits(2, 2), wait: '20s' }).then((lease) => (order.push('heavy'), lease));
    await clock.pass(5);
    const light = here.acquire('k', { ...permits(2), wait: '20s' }).then((lease) => (order.push('light'), lease));
    await clock.pass(5);
    await held[0].release();
    await clock.pass(20);
    expect(order).toEqual([]);
    await held[1].release();
    await clock.pass(20);
    await (await heavy).release();
    await clock.pass(20);
    await (await light).release();
    expect(order).toEqual(['heavy', 'light']);
  });
});
