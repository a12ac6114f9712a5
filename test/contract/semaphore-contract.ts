import { eventually } from '../support/eventually.js';
import { startProcess, type Process, type World } from './world.js';

/** The rules of the semaphore, from the view of callers in two processes. */
export function describeSemaphoreContract(makeWorld: () => World): void {
  const world = makeWorld();
  const start = (): Process => startProcess(world);
  const here = start();
  const there = start();
  let count = 0;
  const newKey = (): string => `semaphore-${(count += 1)}`;
  const permits = (all: number, weight = 1) => ({ kind: 'semaphore', permits: all, weight }) as const;

  it('grants as many permits as there are, in any process', async () => {
    const key = newKey();
    const leases = [await here.acquire(key, permits(3)), await there.acquire(key, permits(3, 2))];
    for (const process of [here, there]) {
      await expect(process.acquire(key, permits(3))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    const waiting = here.acquire(key, { ...permits(3), wait: '20s' });
    await leases[1]?.release();
    const third = await waiting;
    for (const lease of [leases[0], third]) await lease.release();
    expect(await world.owner(key)).toBeUndefined();
  });

  it('issues a fencing token for every holder, and the tokens rise', async () => {
    const key = newKey();
    const leases = [];
    for (let i = 0; i < 6; i += 1) leases.push(await (i % 2 === 0 ? here : there).acquire(key, permits(6)));
    const numbers = leases.map(({ fencingToken }) => fencingToken);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    for (const lease of leases) await lease.release();
  });

  it('serves processes in the order of their callers', async () => {
    const key = newKey();
    const options = { ...permits(1), wait: '20s' } as const;
    const holder = await here.acquire(key, options);
    const order: string[] = [];
    const visit = async (name: string): Promise<void> => {
      const lease = await (name.startsWith('A') ? here : there).acquire(key, options);
      order.push(name);
      await lease.release();
    };
    const all: Promise<void>[] = [];
    for (const name of ['A1', 'B1', 'A2', 'B2', 'A3']) {
      const { counts } = name.startsWith('A') ? here : there;
      const { queued } = counts;
      all.push(visit(name));
      // Callers that come within 25 ms of each other may swap.
      await eventually(() => expect(counts.queued).toBeGreaterThan(queued));
    }
    await holder.release();
    await Promise.all(all);
    expect(order).toEqual(['A1', 'B1', 'A2', 'B2', 'A3']);
  });

  it('issues larger fencing tokens to callers of one process than to those before them', async () => {
    const key = newKey();
    const tokens: number[] = [];
    const visit = async (ms: number): Promise<void> => {
      const lease = await here.acquire(key, { ...permits(2), wait: '20s' });
      tokens.push(lease.fencingToken);
      await new Promise((resolve) => setTimeout(resolve, ms));
      await lease.release();
    };
    await Promise.all([visit(20), visit(30), visit(20), visit(5), visit(20)]);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it('issues a larger fencing token behind a grant of another process', async () => {
    const key = newKey();
    const options = { ...permits(2), wait: '20s' } as const;
    const waitsAt = async (process: Process): Promise<{ lease: ReturnType<Process['acquire']> }> => {
      const { queued } = process.counts;
      const lease = process.acquire(key, options);
      await eventually(() => expect(process.counts.queued).toBeGreaterThan(queued));
      return { lease };
    };
    const held = [await here.acquire(key, options), await there.acquire(key, options)] as const;
    const first = await waitsAt(here);
    const second = await waitsAt(there);
    const third = here.acquire(key, options);
    await held[0].release();
    const one = await first.lease;
    await held[1].release();
    const two = await second.lease;
    await one.release();
    const three = await third;
    expect(two.fencingToken).toBeGreaterThan(one.fencingToken);
    expect(three.fencingToken).toBeGreaterThan(two.fencingToken);
    for (const lease of [two, three]) await lease.release();
  });

  it('never grants more permits than there are to concurrent processes, and serves both', async () => {
    const key = newKey();
    let inside = 0;
    let most = 0;
    const loop = async (process: Process, weight: number): Promise<void> => {
      for (let i = 0; i < 20; i += 1) {
        const lease = await process.acquire(key, { ...permits(4, weight), wait: '20s' });
        inside += weight;
        most = Math.max(most, inside);
        expect(inside).toBeLessThanOrEqual(4);
        await new Promise(setImmediate);
        inside -= weight;
        await lease.release();
      }
    };
    await Promise.all([here, there].flatMap((process) => [1, 1, 1, 2, 4].map((weight) => loop(process, weight))));
    expect(most).toBe(4);
  });

  it('does not let small callers overtake a heavy one', async () => {
    const key = newKey();
    const holder = await here.acquire(key, permits(3));
    const before = there.counts.queued;
    const heavy = there.acquire(key, { ...permits(3, 3), wait: '20s' });
    await eventually(() => expect(there.counts.queued).toBeGreaterThan(before));
    // Two permits are free; still:
    await expect(here.acquire(key, permits(3))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const order: string[] = [];
    const small = here.acquire(key, { ...permits(3), wait: '20s' });
    const noted = [heavy.then(() => order.push('heavy')), small.then(() => order.push('small'))];
    await holder.release();
    await (await heavy).release();
    await (await small).release();
    await Promise.all(noted);
    expect(order).toEqual(['heavy', 'small']);
  });

  it('serves the callers behind a heavy caller that leaves, in its process and in another', async () => {
    const key = newKey();
    const holder = await here.acquire(key, permits(3, 2));
    const leaving = new AbortController();
    const before = there.counts.queued;
    const heavy = there.acquire(key, { ...permits(3, 3), wait: '20s', signal: leaving.signal });
    heavy.catch(() => undefined);
    await eventually(() => expect(there.counts.queued).toBeGreaterThan(before));
    const behind = [there.acquire(key, { ...permits(3), wait: '20s' })];
    leaving.abort();
    await expect(heavy).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    for (const lease of await Promise.all(behind)) await lease.release();
    await holder.release();
  });

  it('passes permits to callers of the same process and weight without a command', async () => {
    const key = newKey();
    const holder = await here.acquire(key, permits(2, 2));
    const callers = Array.from({ length: 40 }, async () => {
      const lease = await here.acquire(key, { ...permits(2, 2), wait: '20s' });
      await lease.release();
    });
    await eventually(() => expect(here.counts.queued).toBeGreaterThan(0));
    const { commands } = here.counts;
    await holder.release();
    await Promise.all(callers);
    expect(here.counts.commands - commands).toBeLessThan(7);
  });

  it.each([
    ['another number of permits', { kind: 'semaphore', permits: 5 } as const, /5 permits.*3 permits/],
    ['an exclusive lock', {}, /a semaphore of 3 permits/],
    ['a read lock', { kind: 'read' } as const, /a semaphore of 3 permits/],
    ['a write lock', { kind: 'write' } as const, /a semaphore of 3 permits/],
  ])('refuses %s on its key in one process, and makes another process wait', async (_, options, message) => {
    const key = newKey();
    const holder = await here.acquire(key, permits(3, 3));
    for (const wait of [0, '20s'] as const) {
      const refused = here.acquire(key, { ...options, wait });
      await expect(refused).rejects.toMatchObject({ code: 'LOCK_USAGE', message: expect.stringMatching(message) });
    }
    const weighed = 'permits' in options ? { ...options, weight: 3 } : options;
    await expect(there.acquire(key, weighed)).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const waiting = there.acquire(key, { ...weighed, wait: '20s' });
    await holder.release();
    await (await waiting).release();
  });

  it('admits the callers of another process within their own number of permits', async () => {
    const key = newKey();
    const old = [await here.acquire(key, permits(3)), await here.acquire(key, permits(3, 2))];
    const added = await there.acquire(key, permits(5, 2));
    await expect(there.acquire(key, permits(5))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
    const waiting = here.acquire(key, { ...permits(3), wait: '20s' });
    for (const lease of old) await lease.release();
    for (const lease of [await waiting, added]) await lease.release();
    expect(await world.owner(key)).toBeUndefined();
  });

  it.each([0, '20s'] as const)(
    'refuses another number of permits at once, behind waiting callers (wait %s)',
    async (wait) => {
      const key = newKey();
      const holder = await there.acquire(key, permits(1));
      const before = here.counts.queued;
      const waiting = here.acquire(key, { ...permits(1), wait: '20s' });
      await eventually(() => expect(here.counts.queued).toBeGreaterThan(before));
      await expect(here.acquire(key, { ...permits(2), wait })).rejects.toMatchObject({ code: 'LOCK_USAGE' });
      await holder.release();
      await (await waiting).release();
    },
  );

  it('does not grant permits that were requested under another number of them', async () => {
    const key = newKey();
    const controller = new AbortController();
    const left = here.acquire(key, { ...permits(2), wait: '20s', signal: controller.signal });
    const other = here.acquire(key, { ...permits(1), wait: '20s' });
    const refused = expect(other).rejects.toMatchObject({
      code: 'LOCK_USAGE',
      message: expect.stringMatching(/of 2 permits/),
    });
    controller.abort();
    await expect(left).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    await refused;
  });

  it.each(['exclusive', 'read'] as const)(
    'waits where the key is a lock of kind %s in another process',
    async (kind) => {
      const key = newKey();
      const holder = await here.acquire(key, { kind });
      const refused = here.acquire(key, { ...permits(3), wait: '20s' });
      await expect(refused).rejects.toMatchObject({
        code: 'LOCK_USAGE',
        message: expect.stringMatching(/another kind/),
      });
      await expect(there.acquire(key, permits(3))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      const waiting = [1, 2].map((weight) => there.acquire(key, { ...permits(3, weight), wait: '20s' }));
      await holder.release();
      for (const lease of await Promise.all(waiting)) await lease.release();
    },
  );

  it('grants the permits of a lost lease to others, and notifies only its holder', async () => {
    const key = newKey();
    const lost = await here.acquire(key, { ...permits(2), ttl: '1500ms', renew: false });
    const kept = await here.acquire(key, { ...permits(2), ttl: '1500ms' });
    const next = await there.acquire(key, { ...permits(2), wait: '10s' });
    expect(lost.signal.aborted).toBe(true);
    expect(kept.isHeld()).toBe(true);
    for (const lease of [kept, next]) await lease.release();
  });

  it('notifies all holders when the key was deleted by hand', async () => {
    const key = newKey();
    const leases = [
      await here.acquire(key, { ...permits(2), ttl: '1500ms' }),
      await there.acquire(key, { ...permits(2), ttl: '1500ms' }),
    ];
    await world.overwrite(key, undefined);
    await eventually(() => expect(leases.every(({ signal }) => signal.aborted)).toBe(true));
  });

  it('extends one lease and no other', async () => {
    const key = newKey();
    const [long, short] = [
      await here.acquire(key, { ...permits(2), ttl: '5s' }),
      await here.acquire(key, { ...permits(2), ttl: '5s' }),
    ];
    await long.extend('60s');
    expect(long.remainingMs()).toBeGreaterThan(50_000);
    expect(short.remainingMs()).toBeLessThan(5_000);
    await expect(long.downgrade()).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    for (const lease of [long, short]) await lease.release();
  });

  it('leaves no key behind', async () => {
    await eventually(async () => expect(await world.leftovers()).toEqual([]));
  });
}
