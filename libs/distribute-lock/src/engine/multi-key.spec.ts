import { ManualClock, settled } from '../../../../test/support/manual-clock.js';
import { LeaseLostError, LockAbortedError, LockContendedError, LockWaitTimeoutError } from '../errors.js';
import type { Lease } from './lease/lease.js';
import type { LockCall } from './lease/lock-call.js';
import { LOCK_DEFAULTS, type ResolvedLockOptions } from '../options/lock-options.js';
import { Timers } from '../runtime/timers.js';
import type { Acquiring } from './acquiring.js';
import type { EngineContext } from './context.js';
import type { Entering } from './entering.js';
import { MultiKey } from './multi-key.js';

/** A requested key, until the test grants or refuses it. */
interface Pending {
  readonly call: LockCall;
  give(): FakeLease;
  refuse(error: Error): void;
}

class FakeLease {
  readonly loss = new AbortController();
  readonly signal = this.loss.signal;
  readonly fencingToken = 1;

  constructor(
    readonly key: string,
    private readonly log: string[],
  ) {}

  isHeld(): boolean {
    return !this.signal.aborted;
  }

  async extend(): Promise<void> {
    this.log.push(`=${this.key}`);
  }

  async release(): Promise<void> {
    this.log.push(`-${this.key}`);
  }
}

function make(waitMs: number, others: Partial<ResolvedLockOptions> = {}) {
  const clock = new ManualClock();
  const log: string[] = [];
  const pending: Pending[] = [];
  const acquireOne = (call: LockCall): Promise<Lease> =>
    new Promise((resolve, reject) => {
      log.push(`?${call.key}`);
      call.signal?.addEventListener('abort', () =>
        reject(new LockAbortedError('left', { cause: call.signal?.reason })),
      );
      const give = (): FakeLease => {
        const lease = new FakeLease(call.key, log);
        log.push(`+${call.key}`);
        resolve(lease as unknown as Lease);
        return lease;
      };
      pending.push({ call, give, refuse: reject });
    });
  const reported: unknown[] = [];
  const context = {
    clock,
    timers: new Timers(clock),
    store: {},
    estimates: { of: (_: LockCall, leftMs: number) => leftMs },
    events: {
      observes: () => true,
      emit: ({ name, waitedMs, error }: { name: string; waitedMs: number; error: Error }) =>
        reported.push([name, waitedMs, error.message]),
    },
  } as unknown as EngineContext;
  // The store has no command for several keys, so the calls enter one by one.
  const multiKey = new MultiKey(context, {} as Acquiring, {} as Entering, acquireOne);
  const controller = new AbortController();
  const options = { ...LOCK_DEFAULTS, waitMs, ...others };
  const calls = ['a', 'b', 'c'].map((key) => ({ key, name: key, options, scoped: false, signal: controller.signal }));
  return { clock, log, reported, pending, controller, answer: multiKey.acquire(calls) };
}

const last = (pending: Pending[]): Pending => pending[pending.length - 1];

describe('MultiKey', () => {
  it('requests each key with a wait of whole milliseconds, which error messages show', async () => {
    const { clock, pending } = make(1_000);
    clock.jump(0.4);
    last(pending).give();
    await settled();
    expect(pending.map(({ call }) => call.options.waitMs)).toEqual([1_000, 1_000]);
  });

  it('takes the keys in ascending order, with one deadline', async () => {
    const { clock, log, pending, answer } = make(1_000);
    await clock.pass(300);
    last(pending).give();
    await clock.pass(600);
    expect(last(pending).call.options.waitMs).toBe(700);
    last(pending).give();
    await settled();
    expect(last(pending).call.options.waitMs).toBe(100);
    last(pending).give();
    const lease = await answer;
    expect(log).toEqual(['?a', '+a', '?b', '+b', '?c', '+c']);
    await lease.release();
    expect(log.slice(6)).toEqual(['-c', '-b', '-a']);
  });

  it('releases its keys in descending order when one key is refused', async () => {
    const { log, pending, answer } = make(0);
    last(pending).give();
    await settled();
    last(pending).give();
    await settled();
    last(pending).refuse(new LockContendedError('taken', { retryAfterMs: 7 }));
    await expect(answer).rejects.toMatchObject({ code: 'LOCK_CONTENDED', retryAfterMs: 7 });
    expect(log.slice(5)).toEqual(['-b', '-a']);
  });

  it('releases its keys when the caller aborts', async () => {
    const { log, reported, pending, controller, answer } = make(1_000);
    last(pending).give();
    await settled();
    controller.abort(new Error('gone'));
    await expect(answer).rejects.toMatchObject({ code: 'LOCK_ABORTED', cause: { message: 'gone' } });
    expect(log).toEqual(['?a', '+a', '?b', '-a']);
    expect(reported).toEqual([['a', 0, 'left']]);
  });

  it.each([0, 100])('limits the total time of slow answers after a wait of %i ms', async (waitMs) => {
    const { clock, log, pending, answer } = make(waitMs);
    await clock.pass(500);
    last(pending).give();
    const refused = expect(answer).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await clock.pass(500);
    await refused;
    expect(log).toEqual(['?a', '+a', '?b', '-a']);
  });

  it('starts again when a held key is lost, until the deadline', async () => {
    const { clock, log, pending, answer } = make(1_000);
    const first = last(pending).give();
    await clock.pass(300);
    first.loss.abort(new Error('lost'));
    await settled();
    expect(log).toEqual(['?a', '+a', '?b', '-a', '?a']);
    expect(last(pending).call.options.waitMs).toBe(700);
    const again = last(pending).give();
    await clock.pass(700);
    again.loss.abort(new Error('lost'));
    // No other holder is known.
    await expect(answer).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
  });

  it('checks all keys again after the last one was acquired', async () => {
    const { log, pending, answer } = make(1_000);
    const first = last(pending).give();
    await settled();
    last(pending).give();
    await settled();
    last(pending).give();
    // The lease ends between its grant and the continuation of the call.
    first.isHeld = () => false;
    await settled();
    expect(log.slice(6)).toEqual(['-c', '-b', '-a', '?a']);
    for (const _ of [1, 2, 3]) {
      last(pending).give();
      await settled();
    }
    expect((await answer).isHeld()).toBe(true);
  });

  it.each([
    [1_000, '?a'],
    [0, undefined],
  ])('extends the first keys and, if one was lost, starts again within %i ms', async (waitMs, next) => {
    const { log, pending, answer } = make(waitMs, { renew: false });
    const refused = expect(answer).rejects.toMatchObject({
      code: waitMs === 0 ? 'LOCK_UNAVAILABLE' : 'LOCK_WAIT_TIMEOUT',
    });
    const first = last(pending).give();
    await settled();
    first.extend = () => Promise.reject(new LeaseLostError('lost', { fencingToken: 1, reason: 'outage' }));
    last(pending).give();
    await settled();
    last(pending).give();
    await settled();
    expect(log.slice(6)).toEqual(['=b', '-c', '-b', '-a', ...(next === undefined ? [] : [next])]);
    if (next !== undefined) last(pending).refuse(new LockWaitTimeoutError('late', { waitedMs: 1, retryAfterMs: 1 }));
    await refused;
  });
});
