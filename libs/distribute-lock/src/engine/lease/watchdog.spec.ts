import { jest } from '@jest/globals';

import { ManualClock, settled } from '../../../../../test/support/manual-clock.js';
import { lockChannels, type LockStateMessage } from '../../channels.js';
import { Timers } from '../../runtime/timers.js';
import { MemoryLockStore } from '../../store/memory/memory-lock-store.js';
import { LockStoreError, type RenewAnswer, type RenewRequest } from '../../store/lock-store.js';
import { Grant, type Holder, type ReadersHold } from './grant.js';
import { Watchdog } from './watchdog.js';

class Store extends MemoryLockStore {
  readonly requested: (readonly RenewRequest[])[] = [];
  answer: () => Promise<RenewAnswer> = async () => 0;

  override async renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    this.requested.push(requests);
    return Promise.all(requests.map(() => this.answer()));
  }
}

/** Renews each lease on the server of its key; that of `away` does not respond. */
class StoreOfServers extends Store {
  renewOne({ key }: RenewRequest): Promise<RenewAnswer> {
    return key === 'away' ? new Promise(() => undefined) : this.answer();
  }

  override async renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    return Promise.all(requests.map((request) => this.renewOne(request)));
  }
}

describe('Watchdog', () => {
  const TTL = 3_000;
  const make = (store = new Store()) => {
    const clock = new ManualClock();
    const lost: Grant[] = [];
    const watchdog = new Watchdog(store, clock, new Timers(clock), (grant) => lost.push(grant));
    const grant = (key = 'order:42', terms: Partial<Holder> = {}, ttlMs = TTL) => {
      const made = new Grant(watchdog.check, key, `${key}-alice`, ttlMs, clock.now(), 1, 1, 0);
      made.holder = {
        holds: [],
        renew: true,
        renewUntil: Infinity,
        leaseUntil: Infinity,
        unreportedSince: Infinity,
        reportLong: jest.fn(),
        renewing: jest.fn(),
        lose: jest.fn(),
        shutDown: jest.fn(),
        ...terms,
      };
      watchdog.watch(made);
      return made;
    };
    return { clock, store, lost, watchdog, grant };
  };

  it('does not bring a retry forward for a new holder, nor for a reader that joins', async () => {
    const { clock, store, watchdog, grant } = make();
    store.answer = () => Promise.reject(new LockStoreError('no answer', true));
    const held = grant();
    await clock.pass(TTL / 3 + 1);
    const { dueAt } = held;
    expect([store.requested.length, held.failures]).toEqual([1, 1]);
    watchdog.watch(held);
    expect(held.dueAt).toBe(dueAt);
    const readers = { renewalAt: () => clock.now(), validUntil: () => Infinity } as unknown as ReadersHold;
    watchdog.joined(held, { ...held.holder!, readers });
    expect(held.dueAt).toBe(dueAt);
  });

  it('renews at a third of the ttl while renewals are confirmed', async () => {
    const { clock, store, lost, grant } = make();
    const held = grant();
    await clock.pass(TTL / 3 - 1);
    expect(store.requested).toHaveLength(0);
    await clock.pass(10 * TTL);
    expect(store.requested.length).toBeGreaterThanOrEqual(29);
    expect(lost).toEqual([]);
    expect(held.validUntil).toBeGreaterThan(clock.now());
  });

  it('renews all grants of one tick in one call', async () => {
    const { clock, store, grant } = make();
    for (let i = 0; i < 50; i += 1) grant(`order:${i}`);
    await clock.pass(TTL / 3);
    expect(store.requested.map(({ length }) => length)).toEqual([50]);
  });

  it('confirms a lease although another one of the same tick has no answer', async () => {
    const { clock, grant } = make(new StoreOfServers());
    const [away, near] = [grant('away'), grant('near')];
    const { startedAt } = near;
    await clock.pass(TTL / 3);
    expect([away, near].map(({ confirmedAt }) => confirmedAt)).toEqual([startedAt, clock.now()]);
  });

  it('notifies the holder before the lease can end when no renewal is confirmed', async () => {
    const { clock, store, lost, grant } = make();
    store.answer = () => Promise.reject(new LockStoreError('no response', true));
    const held = grant();
    await clock.pass(TTL * 0.99 - 4);
    expect(held.holder!.lose).not.toHaveBeenCalled();
    await clock.pass(4);
    expect(held.holder!.lose).toHaveBeenCalledTimes(1);
    expect(held.holder!.lose).toHaveBeenCalledWith({ reason: 'outage' });
    expect(lost).toEqual([held]);
    // The watchdog retried until then.
    expect(store.requested.length).toBeGreaterThan(5);
  });

  it('counts a renewal from the time it is sent, not from its answer', async () => {
    const { clock, store, lost, grant } = make();
    let answer: (waiting: number) => void = () => undefined;
    store.answer = () => new Promise((resolve) => (answer = resolve));
    const held = grant();
    await clock.pass(TTL / 3);
    await clock.pass(TTL / 3);
    answer(0);
    await settled();
    expect(held.validUntil).toBe(1_000 + TTL / 3 + TTL * 0.99 - 2);
    expect(lost).toEqual([]);
  });

  it('does not revive a grant after a late answer', async () => {
    const { clock, store, grant } = make();
    let answer: (waiting: number) => void = () => undefined;
    store.answer = () => new Promise((resolve) => (answer = resolve));
    const held = grant();
    await clock.pass(TTL / 3);
    clock.jump(TTL);
    answer(0);
    await settled();
    expect(held.ended).toBe(true);
    expect(held.holder!.lose).toHaveBeenCalledTimes(1);
  });

  it('notifies the holder at once when the store reports a lost key', async () => {
    const { clock, store, grant } = make();
    store.answer = async () => 'lost';
    const held = grant();
    await clock.pass(TTL / 3);
    expect(held.holder!.lose).toHaveBeenCalledWith({ reason: 'deleted' });
  });

  it('reports a key of another owner as taken', async () => {
    const { clock, store, grant } = make();
    store.answer = async () => 'taken';
    const held = grant();
    await clock.pass(TTL / 3);
    expect(held.holder!.lose).toHaveBeenCalledWith({ reason: 'taken' });
  });

  it('reports how late its timer fired when the event loop was blocked', async () => {
    const { clock, grant } = make();
    const held = grant();
    clock.jump(TTL);
    await clock.pass(0);
    expect(held.holder!.lose).toHaveBeenCalledWith({ reason: 'blocked', blockedMs: (2 * TTL) / 3 });
  });

  it('reports a lost key to a holder without renewal, but not during a downgrade', async () => {
    const { clock, store, grant } = make();
    const answers: (() => void)[] = [];
    store.answer = () => new Promise((resolve) => answers.push(() => resolve('lost')));
    const [ending, leaving] = [grant('ending'), grant('leaving')];
    await clock.pass(TTL / 3);
    Object.assign(ending.holder!, { renew: false });
    Object.assign(leaving.holder!, { renew: false, replacing: leaving });
    for (const answer of answers) answer();
    await settled();
    expect(ending.holder!.lose).toHaveBeenCalledWith({ reason: 'deleted' });
    expect(leaving.holder!.lose).not.toHaveBeenCalled();
  });

  it('reports how late each renewal is', async () => {
    const { clock, grant } = make();
    const lagsMs: number[] = [];
    const listener = (message: unknown): void => {
      const state = message as LockStateMessage;
      if (state.type === 'renewed') lagsMs.push(state.lagMs);
    };
    lockChannels.state.subscribe(listener);
    grant();
    await clock.pass(TTL / 3);
    clock.jump(TTL / 3 + 40);
    await clock.pass(0);
    lockChannels.state.unsubscribe(listener);
    expect(lagsMs).toEqual([0, 40]);
  });

  it('records that another process waits', async () => {
    const { clock, store, grant } = make();
    store.answer = async () => 2;
    const held = grant();
    await clock.pass(TTL / 3);
    expect(held.contended).toBe(true);
  });

  it('does not renew without "renew", nor beyond maxHold', async () => {
    const { clock, store, grant } = make();
    const once = grant('once', { renew: false });
    const limit = clock.now() + 1.5 * TTL;
    const short = grant('short', { renewUntil: limit, leaseUntil: limit });
    await clock.pass(TTL);
    expect(store.requested.flat().map(({ key, ttlMs }) => [key, ttlMs])).toEqual([
      ['short', TTL],
      ['short', (TTL * 5) / 6],
    ]);
    expect(once.holder!.lose).toHaveBeenCalledWith({ reason: 'expired' });
    await clock.pass(TTL / 2);
    expect(short.holder!.lose).toHaveBeenCalledWith({ reason: 'maxHold' });
  });

  it('ignores a grant that is no longer watched', async () => {
    const { clock, store, watchdog, grant } = make();
    const given = grant();
    watchdog.unwatch(given);
    await clock.pass(10 * TTL);
    expect(store.requested).toEqual([]);
    expect(given.holder!.lose).not.toHaveBeenCalled();
  });
});
