import { type HeapProfiler, Session } from 'node:inspector/promises';

import { type LockAcquireMessage, lockChannels, type LockHoldMessage, type LockStateMessage } from './channels.js';
import { LockEngine } from './engine/lock-engine.js';
import type { LockCall } from './engine/lease/lock-call.js';
import { reportWait } from './engine/reports.js';
import { LockEvents } from './events.js';
import { resolveLockOptions, LOCK_DEFAULTS, type LockOptions } from './options/lock-options.js';
import { MemoryLockStore } from './store/memory/memory-lock-store.js';

const PHASES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
/** Channels belong to the process, and Jest runs several files in one, whose leases may still be renewed. */
const NAME = 'Channels.spec';

const CYCLES = 100;
const SMALLEST_OBJECT_BYTES = 24;
/** The files that create the messages and events of calls. */
const REPORTING = /(channels|events|engine.reports)\.ts$/;

/**
 * Bytes of objects that the reporting files create in one cycle, collected objects included. The least of three runs, because the
 * runtime may compile a function again in one of them.
 */
async function bytesPerCycle(cycle: () => Promise<void>): Promise<number> {
  const runs = [await bytesOfRun(cycle), await bytesOfRun(cycle), await bytesOfRun(cycle)];
  return Math.min(...runs) / CYCLES;
}

async function bytesOfRun(cycle: () => Promise<void>): Promise<number> {
  const session = new Session();
  session.connect();
  const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  await session.post('HeapProfiler.startSampling', { samplingInterval: 1, ...all });
  for (let i = 0; i < CYCLES; i += 1) await cycle();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  session.disconnect();
  return bytesOf(profile.head);
}

function bytesOf({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  const own = REPORTING.test(callFrame.url) ? selfSize : 0;
  return children.reduce((sum, child) => sum + bytesOf(child), own);
}

describe('The diagnostics channels', () => {
  const engine = new LockEngine(new MemoryLockStore(), {
    defaults: LOCK_DEFAULTS,
    maxWaiters: 100,
    maxWaitersPerKey: 100,
    events: new LockEvents(),
  });
  afterAll(() => engine.close());

  const call = (key: string, options: LockOptions = {}): LockCall => ({
    key,
    name: NAME,
    options: resolveLockOptions(options, LOCK_DEFAULTS),
    scoped: false,
  });

  const published: string[] = [];
  const messages: (LockAcquireMessage & LockHoldMessage)[] = [];
  const stops: (() => void)[] = [];

  function subscribe(): void {
    for (const [name, tracing] of [
      ['acquire', lockChannels.acquire],
      ['hold', lockChannels.hold],
    ] as const) {
      for (const phase of PHASES) {
        const listener = (message: unknown): void => {
          if ((message as { name: string }).name !== NAME) return;
          published.push(`${name} ${phase}`);
          messages.push(message as LockAcquireMessage & LockHoldMessage);
        };
        tracing[phase].subscribe(listener);
        stops.push(() => tracing[phase].unsubscribe(listener));
      }
    }
    const state = (message: unknown): void => {
      const { name, type } = message as LockStateMessage & { name?: string };
      if (name === NAME) published.push(`state ${type}`);
    };
    lockChannels.state.subscribe(state);
    stops.push(() => lockChannels.state.unsubscribe(state));
  }

  beforeEach(() => {
    published.length = messages.length = 0;
  });
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });

  it('create no message without subscribers', async () => {
    // Spec files of one worker share the channels of Node: each file must unsubscribe.
    expect([lockChannels.acquire.hasSubscribers, lockChannels.hold.hasSubscribers]).toEqual([false, false]);
    const request = call('a');
    expect(reportWait(request)).toBe(request);
    await (await engine.acquire(request)).release();
    expect(request.trace).toBeUndefined();
    subscribe();
    expect(reportWait(request)).toMatchObject({ trace: { acquire: { name: NAME } } });
  });

  it('allocate nothing without subscribers', async () => {
    const cycle = async (): Promise<void> => (await engine.acquire(call('h'))).release();
    for (let i = 0; i < CYCLES; i += 1) await cycle();
    expect(await bytesPerCycle(cycle)).toBeLessThan(SMALLEST_OBJECT_BYTES);
    subscribe();
    expect(await bytesPerCycle(cycle)).toBeGreaterThan(3 * SMALLEST_OBJECT_BYTES);
  });

  it('trace a wait and a hold, each with one object, and never contain the key', async () => {
    subscribe();
    const lease = await engine.acquire(call('secret'));
    expect(published).toEqual([
      ...['acquire start', 'acquire end', 'acquire asyncStart', 'acquire asyncEnd'],
      ...['hold start', 'hold end'],
    ]);
    await lease.release();
    expect(published.slice(6)).toEqual(['hold asyncStart', 'hold asyncEnd']);
    const [acquire] = messages;
    const hold = messages.at(-1)!;
    expect(messages.map((message) => [acquire, hold].indexOf(message))).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    const { fencingToken } = lease;
    expect(acquire).toEqual({
      ...{ name: NAME, kind: 'exclusive', outcome: 'acquired', fencingToken },
      waitedMs: expect.any(Number) as number,
    });
    expect(hold).toEqual({
      ...{ name: NAME, kind: 'exclusive', outcome: 'released', fencingToken, acquire },
      heldMs: expect.any(Number) as number,
    });
    expect(JSON.stringify(messages)).not.toContain('secret');
  });

  it.each([
    ['contended', { wait: 0 }],
    ['timeout', { wait: 60 }],
  ] as const)('trace a call that ends as %s', async (outcome, options) => {
    const lease = await engine.acquire(call('b'));
    subscribe();
    await expect(engine.acquire(call('b', options))).rejects.toThrow();
    expect(published).toEqual(
      PHASES.map((_, i) => `acquire ${['start', 'end', 'error', 'asyncStart', 'asyncEnd'][i]}`),
    );
    expect(messages[0]).toMatchObject({ outcome, error: { name: expect.any(String) as string } });
    await lease.release();
    expect(published).toHaveLength(5);
  });

  it('report a local hand-over', async () => {
    const lease = await engine.acquire(call('c'));
    subscribe();
    const next = engine.acquire(call('c', { wait: '1s' }));
    await lease.release();
    await (await next).release();
    expect(messages[0].handOver).toBe('local');
  });

  it('trace one wait for several keys and a hold for each', async () => {
    subscribe();
    const lease = await engine.acquire({ ...call('d'), key: ['d', 'e', 'f'] });
    expect(published.filter((each) => each === 'acquire start')).toHaveLength(1);
    expect(published.filter((each) => each === 'acquire asyncEnd')).toHaveLength(1);
    expect(published.filter((each) => each === 'hold start')).toHaveLength(3);
    expect(messages[0].fencingToken).toBe(lease.fencingToken);
    await lease.release();
    expect(published.filter((each) => each === 'hold asyncEnd')).toHaveLength(3);
  });

  it('trace a refused call for several keys once', async () => {
    const lease = await engine.acquire(call('e'));
    subscribe();
    await expect(engine.acquire({ ...call('d'), key: ['d', 'e'] })).rejects.toMatchObject({
      code: 'LOCK_CONTENDED',
    });
    expect(published.filter((each) => each.endsWith('asyncEnd'))).toEqual(['acquire asyncEnd']);
    await lease.release();
  });

  it('report a lost lease once, as its state and as the end of its hold', async () => {
    subscribe();
    const lease = await engine.acquire(call('g', { ttl: 300, renew: false }));
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    await lease.release();
    expect(published.slice(6)).toEqual(['state lost', 'hold error', 'hold asyncStart', 'hold asyncEnd']);
    expect(messages.at(-1)).toMatchObject({ outcome: 'lost', reason: 'expired' });
  });
});
