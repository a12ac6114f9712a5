import { ManualClock } from '../../../../test/support/manual-clock.js';
import { LateAnswers } from '../../../../test/support/held-up-store.js';
import { ManualWorld } from '../../../../test/support/manual-world.js';
import { LockStoreError } from '../store/lock-store.js';
import type { KeyState } from './key-state.js';
import type { Lease } from './lease/lease.js';

const PERMITS = { kind: 'semaphore', permits: 2, ttl: '30s', wait: '20s' } as const;

describe('A caller that arrives while callers of its process are served and another process waits', () => {
  it.each<[string, { reportedMs: number; servedMs: number; first?: string }, string]>([
    ['joins the served callers', { reportedMs: 5, servedMs: 1 }, 'late other'],
    ['joins them when the first is served after its arrival', { reportedMs: 5, servedMs: 1, first: 'b' }, 'late other'],
    ['goes behind the other process 4 ms after the first was served', { reportedMs: 5, servedMs: 8 }, 'other late'],
    ['goes behind the other process 25 ms after their report', { reportedMs: 25, servedMs: 1 }, 'other late'],
    ['goes behind it, also before the first is served', { reportedMs: 25, servedMs: 1, first: 'b' }, 'other late'],
  ])('%s', async (_, { reportedMs, servedMs, first = 'c' }, end) => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [before, here, there] = [world.process(), world.process(), world.process()];
    const [held, served]: [Lease[], string[]] = [[], []];
    const acquire = async (process: typeof here, name: string): Promise<void> => {
      held.push(await process.acquire('k', PERMITS));
      served.push(name);
    };
    const releaseNext = async (passMs: number): Promise<void> => {
      await held.shift()?.release();
      await clock.pass(passMs);
    };
    await Promise.all([acquire(before, 'x'), acquire(before, 'y')]);
    // The first caller is reported at once, the others 25 ms later.
    const all = [acquire(here, 'a')];
    await clock.pass(1);
    all.push(...['b', 'c', 'd'].map((name) => acquire(here, name)));
    await clock.pass(25);
    all.push(acquire(there, 'other'));
    await clock.pass(reportedMs);
    await releaseNext(0);
    if (first === 'c') await releaseNext(0);
    await releaseNext(servedMs);
    expect(served.at(-1)).toBe(first);
    all.push(acquire(here, 'late'));
    while (held.length > 0) await releaseNext(5);
    await Promise.all(all);
    expect(served.join(' ')).toBe(`x y a b c d ${end}`);
  });
});

describe('Callers that return right after the last caller of their process was served', () => {
  it('get their places together, behind another process', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [before, here, there, third] = [world.process(), world.process(), world.process(), world.process()];
    const [held, served]: [Lease[], string[]] = [[], []];
    const acquire = async (process: typeof here, name: string): Promise<void> => {
      held.push(await process.acquire('k', PERMITS));
      served.push(name);
    };
    await Promise.all([acquire(before, 'x'), acquire(before, 'y')]);
    const all = [acquire(here, 'a'), acquire(here, 'b')];
    await clock.pass(30);
    all.push(acquire(there, 'other'));
    await clock.pass(30);
    for (const lease of held.splice(0)) await lease.release();
    await clock.pass(0);
    expect(served).toEqual(['x', 'y', 'a', 'b']);
    for (const [process, name] of [
      [here, 'first'],
      [third, 'third'],
      [here, 'second'],
    ] as const) {
      all.push(acquire(process, name));
      await clock.pass(0.5);
    }
    await clock.pass(10);
    while (held.length > 0) {
      await held.shift()?.release();
      await clock.pass(5);
    }
    await Promise.all(all);
    expect(served.slice(4)).toEqual(['other', 'third', 'first', 'second']);
  });
});

describe('A caller that wants other permits than the callers before it', () => {
  it('is served after them, also when they shared one place', async () => {
    const clock = new ManualClock();
    const process = new ManualWorld(clock).process();
    const served: string[] = [];
    const acquire = async (name: string, weight: number): Promise<Lease> => {
      const lease = await process.acquire('k', { ...PERMITS, permits: 3, weight });
      served.push(name);
      return lease;
    };
    const [light, heavy] = [await acquire('light', 1), await acquire('heavy', 2)];
    await clock.pass(10);
    const waiting = [acquire('first', 1)];
    await clock.pass(1);
    waiting.push(acquire('second', 1));
    await clock.pass(100);
    waiting.push(acquire('heavier', 2));
    await clock.pass(100);
    await light.release();
    await clock.pass(5);
    await heavy.release();
    await clock.pass(50);
    expect(served).toEqual(['light', 'heavy', 'first', 'second']);
    await (await waiting[0]).release();
    await clock.pass(5);
    expect(served).toEqual(['light', 'heavy', 'first', 'second', 'heavier']);
    await process.engine.close();
  });
});

describe('A process that holds every permit', () => {
  it.each([
    ['weight', { weight: 2 }],
    ['ttl', { ttl: '40s' }],
  ])('queues all its callers in time if their %s differs from that of the holder', async (_, differs) => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    const served: string[] = [];
    const acquire = async (process: typeof here, name: string, options: object = {}): Promise<Lease> => {
      const lease = await process.acquire('k', { ...PERMITS, ...options });
      served.push(name);
      return lease;
    };
    const holders = [await acquire(here, 'holder', differs)];
    if (!('weight' in differs)) holders.push(await acquire(here, 'holder', differs));
    const first = acquire(here, 'first');
    await clock.pass(1);
    const second = acquire(here, 'second');
    await clock.pass(30);
    const other = acquire(there, 'other', { weight: 2 });
    await clock.pass(10);
    for (const holder of holders) await holder.release();
    await clock.pass(10);
    await (await first).release();
    await clock.pass(10);
    expect(served.slice(holders.length)).toEqual(['first', 'second']);
    await (await second).release();
    await (await other).release();
  });

  it('hands over each permit in memory, without a release to the store', async () => {
    const clock = new ManualClock();
    const process = new ManualWorld(clock).process();
    let releases = 0;
    process.detours.release = (ask) => {
      releases += 1;
      return ask();
    };
    const tokens: number[] = [];
    const loop = async (): Promise<void> => {
      for (let round = 0; round < 100; round += 1) {
        const lease = await process.acquire('k', PERMITS);
        tokens.push(lease.fencingToken);
        await new Promise<void>((resolve) => void clock.after(1, resolve));
        await lease.release();
      }
    };
    const loops = Promise.all(Array.from({ length: 5 }, loop));
    for (let ms = 0; ms < 1_000; ms += 1) {
      await clock.pass(1);
      clock.turn();
    }
    await loops;
    expect(tokens).toHaveLength(500);
    expect(tokens).toEqual([...tokens].sort((one, other) => one - other));
    // The last callers of all, and places that were no longer needed.
    expect(releases).toBeLessThan(30);
    await process.engine.close();
  });
});

describe('The last caller of a process with more callers than permits', () => {
  const THREE = { ...PERMITS, permits: 3, wait: '60s' } as const;

  /** Another process has one permit, and this process two: one is kept, the other was passed on until one caller was left. */
  const start = async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process({}, 10), world.process()];
    const elsewhere = await there.acquire('k', THREE);
    const [kept, before] = [await here.acquire('k', THREE), await here.acquire('k', THREE)];
    const served: Lease[] = [];
    const acquire = async (): Promise<void> => void served.push(await here.acquire('k', { ...THREE, renew: false }));
    const callers = [acquire()];
    await clock.pass(1);
    callers.push(acquire());
    await clock.pass(1);
    // These five callers get four places together.
    callers.push(...Array.from({ length: 5 }, acquire));
    await clock.pass(30);
    await before.release();
    for (const count of [1, 2, 3, 4, 5]) {
      await clock.pass(10);
      expect(served).toHaveLength(count);
      await served[count - 1].release();
    }
    await clock.pass(10);
    expect(served).toHaveLength(6);
    const end = async (): Promise<void> => {
      await Promise.all(callers);
      await Promise.all([elsewhere, kept, ...served].map((lease) => lease.release()));
    };
    return { clock, elsewhere, served, end };
  };

  it('gets a permit that another process releases', async () => {
    const { clock, elsewhere, served, end } = await start();
    await elsewhere.release();
    await clock.pass(10);
    expect(served).toHaveLength(7);
    await end();
  });

  it('gets the permit of a lease that ended without a release', async () => {
    const { clock, served, end } = await start();
    await clock.pass(30_000);
    expect(served[5].isHeld()).toBe(false);
    expect(served).toHaveLength(7);
    await end();
  });
});

describe('Callers of one process that arrive one after the other', () => {
  it('have no more places than can be served, and one more', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [before, here] = [world.process(), world.process({}, 100)];
    const held = [await before.acquire('k', PERMITS), await before.acquire('k', PERMITS)];
    const served: Promise<void>[] = [];
    for (let i = 0; i < 30; i += 1) {
      served.push(here.acquire('k', PERMITS).then((lease) => lease.release()));
      await clock.pass(35);
    }
    expect(world.state.permitsQueued('k')).toHaveLength(PERMITS.permits + 1);
    for (const lease of held) await lease.release();
    await clock.pass(100);
    await Promise.all(served);
    await clock.pass(100);
    expect(world.state.permitsQueued('k')).toEqual([]);
  });
});

describe('Callers of two processes that arrive in turn, while no message reports that others wait', () => {
  it('are served in the order of their arrival', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    world.listenThrough((listener) => ({
      message: (message) => message.type === 'contended' || listener.message(message),
      resubscribed: () => listener.resubscribed(),
    }));
    const [before, here, there] = [world.process(), world.process(), world.process()];
    const served: string[] = [];
    const visit = async (process: typeof here, name: string): Promise<void> => {
      const lease = await process.acquire('k', { ...PERMITS, permits: 1 });
      served.push(name);
      await new Promise<void>((resolve) => void clock.after(1, resolve));
      await lease.release();
    };
    const held = await before.acquire('k', { ...PERMITS, permits: 1 });
    const all: Promise<void>[] = [];
    for (const name of ['a1', 'b1', 'a2', 'b2', 'a3']) {
      all.push(visit(name.startsWith('a') ? here : there, name));
      await clock.pass(30);
    }
    await held.release();
    await clock.pass(100);
    await Promise.all(all);
    expect(served).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });
});

describe('Callers with a place each, whose wait ends while the answer to their common heartbeat is late', () => {
  it.each([
    ['the store queued the command', 'queued'],
    ['the store refused the command', 'busy'],
  ])('leave no place in the store (%s)', async (_, outcome) => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const process = world.process();
    const held = await process.acquire('k', PERMITS);
    const calls = [1_500, 1_600].map((wait) => process.acquire('k', { ...PERMITS, weight: 2, wait }));
    const refused = Promise.all(calls.map((call) => call.catch(({ code }: { code: string }) => code)));
    await clock.pass(100);
    expect(world.state.permitsQueued('k')).toHaveLength(2);
    const late = new LateAnswers();
    process.detours.acquire = async (ask) => ({ ...((await late.detour(ask)) as object), outcome });
    await clock.pass(1_600);
    expect(late.size).toBe(1);
    late.arrive();
    delete process.detours.acquire;
    await clock.pass(100);
    expect(await refused).toEqual(['LOCK_WAIT_TIMEOUT', 'LOCK_WAIT_TIMEOUT']);
    expect(world.state.permitsQueued('k')).toEqual([]);
    await held.release();
    await process.engine.close();
  });
});

describe('A caller that came after another process was granted a permit', () => {
  it('gets a larger fencing token than that process, also by the late reply to a command for a caller that has left', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [here, there] = [world.process(), world.process()];
    const late = new LateAnswers();
    here.detours.acquire = late.detour;
    const abort = new AbortController();
    const first = here.acquire('k', { ...PERMITS, signal: abort.signal });
    await clock.pass(5);
    const other = await there.acquire('k', PERMITS);
    await clock.pass(5);
    const second = here.acquire('k', PERMITS);
    await clock.pass(5);
    abort.abort();
    await expect(first).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    for (let i = 0; i < 3; i += 1) {
      late.arrive();
      await clock.pass(5);
    }
    const lease = await second;
    expect(lease.fencingToken).toBeGreaterThan(other.fencingToken);
    await Promise.all([lease.release(), other.release()]);
  });

  it('gets a larger fencing token, also from a holder whose permit was granted before', async () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    const [before, here, there] = [world.process(), world.process(), world.process()];
    const held = [await before.acquire('k', PERMITS), await before.acquire('k', PERMITS)];
    const other = there.acquire('k', PERMITS);
    await clock.pass(30);
    const first = here.acquire('k', PERMITS);
    await clock.pass(1);
    const second = here.acquire('k', PERMITS);
    await clock.pass(30);
    let claim = (): void => undefined;
    there.detours.acquire = async (ask) => {
      await new Promise<void>((resolve) => (claim = resolve));
      return ask();
    };
    for (const lease of held) await lease.release();
    await clock.pass(1);
    const one = await first;
    // The other process has had an offer since before.
    await clock.pass(1);
    claim();
    const { fencingToken } = await other;
    const late = here.acquire('k', PERMITS);
    await clock.pass(30);
    // The request for more tokens gets no answer.
    here.detours.acquire = () => new Promise(() => undefined);
    await one.release();
    await clock.pass(1);
    await (await second).release();
    await clock.pass(30);
    expect((await late).fencingToken).toBeGreaterThan(fencingToken);
    await (await late).release();
  });
});

describe('Callers of a process whose wait ends in an outage', () => {
  it.each([
    ['for permits', PERMITS, 'semaphore'],
    ['with strict fairness', { fair: 'strict', ttl: '30s' }, 'exclusive'],
  ] as const)(
    'are refused as unavailable, whichever of their places asks for all of them: %s',
    async (_, options, kind) => {
      const clock = new ManualClock();
      const world = new ManualWorld(clock);
      const [here, there] = [world.process(), world.process()];
      for (let held = 0; held < (kind === 'semaphore' ? 2 : 1); held += 1) await there.acquire('k', options);
      const calls = [1, 2, 3].map(() => here.acquire('k', { ...options, wait: '5s' }).catch((error: unknown) => error));
      await clock.pass(100);
      const { states } = here.engine as unknown as { states: { find(kind: string, key: string): KeyState } };
      const places = [...new Set(states.find(kind, 'k').attempts())];
      expect(places).toHaveLength(3);
      // The store serves the last of these places first.
      Object.assign(places.at(-1)!, { since: -1 });
      here.detours.acquire = () => Promise.reject(new LockStoreError('Redis does not respond.', true));
      await clock.pass(5_000);
      const refused = {
        code: 'LOCK_UNAVAILABLE',
        message: expect.stringContaining('Redis does not respond') as string,
      };
      expect(await Promise.all(calls)).toEqual([1, 2, 3].map(() => expect.objectContaining(refused) as unknown));
    },
  );
});
