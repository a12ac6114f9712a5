import { ManualClock } from '../../../../test/support/manual-clock.js';
import { type ManualProcess, ManualWorld, twoProcesses } from '../../../../test/support/manual-world.js';
import type { AcquireOptions } from '../options/lock-options.js';
import type { LockMessage, LockStoreListener } from '../store/lock-store.js';
import { HEARTBEAT_MS } from './heartbeat.js';

/** The longest time for which another process waits behind holds of at most `HOLD_MS`. */
const MOST_MS = 1_500;
const HOLD_MS = 200;
const refuse = () => Promise.reject(new Error('NOPERM'));

interface Loops {
  stop(): void;
  readonly ended: Promise<unknown>;
}

describe('A process whose store reports the subscription before it returns', () => {
  it('acquires a free lock, and waits for a taken one', async () => {
    const { clock, world, here, there } = twoProcesses();
    world.listenThrough((listener) => {
      listener.resubscribed();
      return listener;
    });
    const lease = await there.acquire('k', { wait: '5s' });
    const waiting = here.acquire('k', { wait: '5s' });
    await clock.pass(5);
    await lease.release();
    await clock.pass(5);
    await (await waiting).release();
  });
});

describe('A process whose subscription is not answered', () => {
  const start = () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    let answer = (): void => undefined;
    const subscribe = async (ask: () => Promise<unknown>): Promise<unknown> => {
      await new Promise<void>((resolve) => (answer = resolve));
      return ask();
    };
    return { clock, here: world.process({ subscribe }), there: world.process(), answer: () => answer() };
  };

  it('acquires a free lock after 200 ms at the latest', async () => {
    const { clock, here } = start();
    const acquired = here.acquire('k', { wait: '5s' });
    await clock.pass(199);
    expect(here.events).toEqual([]);
    await clock.pass(1);
    await (await acquired).release();
  });

  it('gets a lock that is released before the answer, and one that is released after it', async () => {
    const { clock, here, there, answer } = start();
    for (const answersFirst of [false, true]) {
      const held = await there.acquire('k');
      const acquired = here.acquire('k', { wait: '5s' });
      await clock.pass(300);
      if (answersFirst) answer();
      await clock.pass(10);
      await held.release();
      await clock.pass(answersFirst ? 10 : 1_500);
      await (await acquired).release();
    }
  });
});

describe('A process that closes before its subscription is answered', () => {
  it('reports nothing, because its callers have ended', async () => {
    const clock = new ManualClock();
    let fail = (): void => undefined;
    const subscribe = () => new Promise((_, reject) => (fail = () => reject(new Error('The connection is closed.'))));
    const { acquire, engine, events } = new ManualWorld(clock).process({ subscribe });
    const acquired = acquire('k', { wait: '5s' });
    await clock.pass(300);
    await (await acquired).release();
    await engine.close();
    fail();
    await clock.pass(1_000);
    expect(events.filter(({ type }) => type === 'degraded')).toEqual([]);
  });
});

describe('A process that receives no messages', () => {
  const start = () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    return { clock, deaf: world.process({ subscribe: refuse }, 100), there: world.process() };
  };

  /** Callers that acquire the lock again and again, so that it always has a holder. */
  const keepBusy = (
    clock: ManualClock,
    { acquire }: ManualProcess,
    options: AcquireOptions,
    callers: number,
  ): Loops => {
    let stopped = false;
    const caller = async (delayMs: number): Promise<void> => {
      await new Promise<void>((resolve) => void clock.after(delayMs, resolve));
      while (!stopped) {
        const lease = await acquire('k', { wait: '1h', ...options });
        await new Promise<void>((resolve) => void clock.after(HOLD_MS, resolve));
        await lease.release();
      }
    };
    const ended = Promise.all(Array.from({ length: callers }, (_, i) => caller(40 * i)));
    return { stop: () => (stopped = true), ended };
  };

  const pass = async (clock: ManualClock, ms: number): Promise<void> => {
    for (const until = clock.now() + ms; clock.now() < until; clock.turn()) await clock.pass(5);
  };

  /** How long a caller of the other process waits. */
  const waitOf = async (clock: ManualClock, there: ManualProcess, options: AcquireOptions): Promise<number> => {
    const since = clock.now();
    let at = Infinity;
    const served = there.acquire('k', { wait: '1h', ...options }).then((lease) => {
      at = clock.now();
      return lease.release();
    });
    for (let i = 0; i < 100 && at === Infinity; i += 1) await pass(clock, 100);
    void served;
    return at - since;
  };

  it.each<[string, AcquireOptions, number, AcquireOptions]>([
    ['exclusive callers', {}, 70, {}],
    ['readers, for a writer', { kind: 'read' }, 5, { kind: 'write' }],
    ['callers for permits', { kind: 'semaphore', permits: 2 }, 10, { kind: 'semaphore', permits: 2 }],
  ])('lets another process in within 1.5 s: %s', async (_, busy, callers, other) => {
    const { clock, deaf, there } = start();
    const loops = keepBusy(clock, deaf, busy, callers);
    await pass(clock, 700);
    for (let i = 0; i < 3; i += 1) {
      expect(await waitOf(clock, there, other)).toBeLessThanOrEqual(MOST_MS);
      await pass(clock, 333);
    }
    loops.stop();
    await pass(clock, 20_000);
    await loops.ended;
    await deaf.engine.close();
    await there.engine.close();
  });

  /** The first process subscribes, but receives no messages. It learns of that when `loseConnection` is called. */
  const startWithConnection = () => {
    const clock = new ManualClock();
    const world = new ManualWorld(clock);
    let connection: LockStoreListener | undefined;
    world.listenThrough((listener) => {
      connection ??= listener;
      const message = (each: LockMessage): void => (listener === connection ? undefined : listener.message(each));
      return { ...listener, message, resubscribed: () => listener.resubscribed() };
    });
    const loseConnection = (): void => connection!.unsubscribed!();
    return { clock, deaf: world.process({}, 100), there: world.process(), loseConnection };
  };

  it.each<[string, AcquireOptions]>([
    ['exclusive', {}],
    ['strict', { fair: 'strict' }],
  ])('polls as soon as its subscription is lost: %s', async (_, options) => {
    const { clock, deaf, there, loseConnection } = startWithConnection();
    await (await deaf.acquire('k', options)).release();
    const held = await there.acquire('k', options);
    let served = false;
    const waiting = deaf.acquire('k', { ...options, wait: '1h' });
    void waiting.then(() => (served = true));
    await clock.pass(50);
    loseConnection();
    await held.release();
    await clock.pass(300);
    expect(served).toBe(true);
    await (await waiting).release();
  });

  it('lets another process in after its connection for messages is lost', async () => {
    const { clock, deaf, there, loseConnection } = startWithConnection();
    const loops = keepBusy(clock, deaf, { kind: 'read' }, 5);
    await pass(clock, 700);
    loseConnection();
    expect(await waitOf(clock, there, { kind: 'write' })).toBeLessThanOrEqual(MOST_MS);
    loops.stop();
    await pass(clock, 20_000);
    await loops.ended;
  });

  it('asks the store once in a heartbeat before further readers enter', async () => {
    const { clock, deaf } = start();
    let renewals = 0;
    deaf.detours.renew = (ask) => {
      renewals += 1;
      return ask();
    };
    const first = await deaf.acquire('k', { kind: 'read' });
    for (let i = 0; i < 100; i += 1) {
      const reader = deaf.acquire('k', { kind: 'read' });
      await clock.pass(50);
      await (await reader).release();
    }
    expect(renewals).toBeGreaterThanOrEqual(Math.floor(5_000 / (HEARTBEAT_MS + 50)));
    expect(renewals).toBeLessThanOrEqual(Math.ceil(5_000 / HEARTBEAT_MS));
    await first.release();
  });

  it('releases each permit to the store, so that the store decides who is next', async () => {
    const { clock, deaf } = start();
    let releases = 0;
    deaf.detours.release = (send) => {
      releases += 1;
      return send();
    };
    const hold = async (): Promise<void> => {
      const lease = await deaf.acquire('k', { kind: 'semaphore', permits: 1, wait: '1h' });
      await new Promise<void>((resolve) => void clock.after(10, resolve));
      await lease.release();
    };
    const holds = Promise.all([hold(), hold(), hold(), hold()]);
    await pass(clock, 5_000);
    await holds;
    expect(releases).toBe(4);
  });
});
