import { checkExactHistory } from './check/check-history.js';
import { HandMade } from './check/hand-made.js';

const made = (): HandMade => new HandMade();
const held = { called: 0, granted: 10, released: 50 };
const semaphore = { kind: 'semaphore', permits: 3 } as const;
const cut = { type: 'fault', name: 'cut', cutOff: false } as const;

describe('The rule of wait bounds', () => {
  it('reports an acquire that settles too late', () => {
    const refused = (at: number) =>
      made().operation('a', { called: 0, wait: 500, refused: at, code: 'LOCK_WAIT_TIMEOUT' });
    const other = { called: -50, granted: -10, released: 9_000, process: 'p2' };
    expect(refused(1_500).operation('b', other).violations()).toEqual([]);
    expect(refused(1_700).operation('b', other).violations()).toEqual([
      'wait bounds: a settled after 1700 ms; its wait is 500 ms',
    ]);
  });

  it('does not count the time in which the process was stopped', () => {
    const history = made().operation('a', { called: 0, wait: 0, granted: 3_000, released: 3_010 });
    expect(history.standstill('p1', 100, 2_500).violations()).toEqual([]);
  });

  it('does not count the time in which a killed process had blocked its event loop', () => {
    const killed = (ms: number) =>
      made()
        .operation(
          'a',
          { called: 0, granted: 10 },
          { type: 'release', held: true, at: 1_000 },
          { type: 'blocks', at: 1_005, ms },
        )
        .run({ type: 'killed', of: 'p1', at: 1_800 });
    expect(killed(900).violations()).toEqual([]);
    expect(killed(100).violations()).toEqual(['wait bounds: a waited 800 ms for its release']);
  });

  it('reports a call that never settles, unless its process was killed', () => {
    const hanging = () =>
      made()
        .operation('a', { called: 0 })
        .operation('b', { ...held, keys: ['j'], process: 'p2' });
    expect(hanging().violations()).toEqual(['wait bounds: a never settled']);
    expect(hanging().run({ type: 'killed', of: 'p1', at: 40 }).violations()).toEqual([]);
  });

  it('reports an aborted wait that continues', () => {
    const aborted = { called: 0, wait: 5_000, aborted: 100, code: 'LOCK_ABORTED' };
    expect(
      made()
        .operation('a', { ...aborted, refused: 110 })
        .violations(),
    ).toEqual([]);
    expect(
      made()
        .operation('a', { ...aborted, refused: 600 })
        .violations(),
    ).toEqual(['wait bounds: a settled 500 ms after its signal aborted']);
  });

  it('reports a change or a shutdown that takes too long', () => {
    const changed = (at: number) =>
      made().operation(
        'a',
        { ...held, released: 3_000 },
        { type: 'extend', at: 20, ttlMs: 1e5 },
        { type: 'extended', at, code: 'ok' },
      );
    expect(changed(1_000).violations()).toEqual([]);
    expect(changed(1_200).violations()).toEqual(['wait bounds: a waited 1180 ms for its extend']);
    const closed = (at: number) => made().operation('a', held).shutdown('p1', 60, 500).closed('p1', at);
    expect(closed(600).violations()).toEqual([]);
    expect(closed(1_700).violations()).toEqual(['wait bounds: the shutdown of p1 took 1640 of 500 ms']);
  });

  it('reports a release that takes too long', () => {
    expect(
      made()
        .operation('a', { ...held, releaseMs: 100 })
        .violations(),
    ).toEqual([]);
    expect(
      made()
        .operation('a', { ...held, releaseMs: 600 })
        .violations(),
    ).toEqual(['wait bounds: a waited 600 ms for its release']);
  });
});

describe('The rule of outcomes', () => {
  const taken = { called: -50, granted: -10, released: 9_000, process: 'p2' };
  const refused = (code: string, at: number, wait = 0, more = {}) =>
    made()
      .operation('b', taken)
      .operation('a', { called: 0, refused: at, code, wait, ...more });

  it.each([
    ['LOCK_CONTENDED', 5, 0],
    ['LOCK_WAIT_TIMEOUT', 300, 300],
  ])('accepts %s after %i of %i ms', (code, at, wait) => {
    expect(refused(code, at, wait).violations()).toEqual([]);
  });

  it.each([
    ['LOCK_CONTENDED', 5, 300],
    ['LOCK_WAIT_TIMEOUT', 5, 0],
    ['LOCK_WAIT_TIMEOUT', 200, 300],
    ['LOCK_UNAVAILABLE', 5, 0],
    ['LOCK_ABORTED', 5, 300],
    ['LOCK_SHUTDOWN', 5, 300],
    ['LOCK_USAGE', 5, 300],
    ['none', 5, 0],
  ])('reports %s after %i of %i ms', (code, at, wait) => {
    expect(refused(code, at, wait).violations()).toEqual([
      `outcomes: a was refused with ${code} after ${at}.0 of ${wait} ms: `,
    ]);
  });

  it('reports an extension that does not lengthen the lease, and a change that fails without a reason', () => {
    const extended = (code: string, until: number) =>
      made()
        .operation(
          'a',
          { ...held, ttl: 200, until: 190, released: 180 },
          { type: 'extend', at: 20, ttlMs: 500 },
          { type: 'extended', at: 30, code },
          { type: 'proven', at: 31, until },
        )
        .violations();
    expect(extended('ok', 512)).toEqual([]);
    expect(extended('ok', 195)).toEqual(['outcomes: a was extended by 500 ms, and proven for 175 ms']);
    expect(extended('LEASE_LOST', 195)).toEqual([]);
    expect(extended('none', 195)).toEqual(['outcomes: a was not extended: none']);
    const downgraded = (renew: boolean) =>
      made().operation('a', { ...held, renew, downgraded: 20 }, { type: 'downgraded', at: 30, code: 'LEASE_LOST' });
    expect(downgraded(false).violations()).toEqual([]);
    expect(downgraded(true).violations()).toEqual(['outcomes: a was not downgraded: LEASE_LOST']);
  });

  it('accepts LOCK_UNAVAILABLE while something is wrong, when the wait is over', () => {
    expect(
      refused('LOCK_UNAVAILABLE', 300, 300)
        .run({ ...cut, from: 100, at: 200 })
        .violations(),
    ).toEqual([]);
    expect(
      refused('LOCK_UNAVAILABLE', 250, 300)
        .run({ ...cut, from: 100, at: 200 })
        .violations(),
    ).toHaveLength(1);
    expect(
      refused('LOCK_UNAVAILABLE', 300, 300)
        .run({ ...cut, from: 100, at: 200, of: 'p2' })
        .violations(),
    ).toHaveLength(1);
  });

  it('accepts LOCK_UNAVAILABLE when the lease of the shared attempt ended before the answer', () => {
    const message = 'its answer came after the end of the lease.';
    const history = (maxHold: number) =>
      made()
        .operation('a', { called: 0, refused: 83, code: 'LOCK_UNAVAILABLE', message, maxHold })
        .operation('b', { called: 25, refused: 83, code: 'LOCK_UNAVAILABLE', message });
    expect(history(66).violations()).toEqual([]);
    expect(history(200).violations()).toHaveLength(2);
  });

  it('reports inner work that is granted without `reentrant`, or refused with it', () => {
    const inner = { call: 'withLock', called: 20, inside: 'a' } as const;
    const granted = { granted: 21, released: 30 };
    const history = (operation: object) =>
      made()
        .operation('a', held)
        .operation("a'", { ...inner, ...operation });
    expect(history({ ...granted, reentrant: true }).violations()).toEqual([]);
    expect(history({ refused: 21, code: 'LOCK_USAGE' }).violations()).toEqual([]);
    expect(history(granted).violations()).toEqual(["outcomes: a' was granted inside its own lock"]);
    expect(history({ refused: 21, code: 'LOCK_USAGE', reentrant: true }).violations()).toEqual([
      "outcomes: a' was refused with LOCK_USAGE after 1.0 of 0 ms: ",
    ]);
  });

  it('reports a loss that `withLock` does not report, and a false one', () => {
    const work = { ...held, call: 'withLock', process: 'p1' } as const;
    const lost = (more: object) =>
      made()
        .operation('a', { ...work, ...more })
        .run({ ...cut, from: 0, at: 5 });
    expect(lost({ onLost: 'throw', lost: 40, ended: 'LEASE_LOST' }).violations()).toEqual([]);
    expect(lost({ onLost: 'signal', lost: 40, ended: 'ok' }).violations()).toEqual([]);
    expect(lost({ onLost: 'throw', lost: 40, ended: 'ok' }).violations()).toHaveLength(1);
    expect(lost({ onLost: 'throw', lost: 40, ended: 'none' }).violations()).toHaveLength(1);
    expect(lost({ onLost: 'signal', lost: 40, ended: 'LEASE_LOST' }).violations()).toHaveLength(1);
    expect(lost({ onLost: 'throw', ended: 'LEASE_LOST' }).violations()).toHaveLength(1);
    const whileReleased = { until: held.released + 5, releaseMs: 10 };
    expect(lost({ onLost: 'throw', ended: 'LEASE_LOST', ...whileReleased }).violations()).toEqual([]);
    expect(lost({ onLost: 'signal', ended: 'LEASE_LOST', ...whileReleased }).violations()).toHaveLength(1);
  });

  it('accepts a loss of data before a reader shared an older lease', () => {
    const reader = (sent: number) =>
      made()
        .operation('a', { ...held, kind: 'read', call: 'withLock', onLost: 'throw', ended: 'LEASE_LOST', sent })
        .run({ type: 'data-lost', name: 'flush-all', from: held.called - 30, at: held.called - 29 });
    expect(reader(held.called - 60).violations()).toEqual([]);
    expect(reader(held.called).violations()).toHaveLength(1);
  });
});

describe('The rule of free locks', () => {
  const waits = { called: 0, wait: 2_000, refused: 2_000, code: 'LOCK_WAIT_TIMEOUT' };

  it('reports a wait in vain for a free lock', () => {
    expect(made().operation('a', waits).violations()).toEqual([
      'free locks: a waited, although k was free for 2000 ms, 0 ms after its call',
    ]);
    const taken = { called: -50, granted: -10, process: 'p2' };
    expect(
      made()
        .operation('b', { ...taken, released: 1_100 })
        .operation('a', waits)
        .violations(),
    ).toEqual([]);
    expect(
      made()
        .operation('b', { ...taken, released: 900 })
        .operation('a', waits)
        .violations(),
    ).toHaveLength(1);
  });

  it('accepts a wait for a lease that was extended and left to its ttl', () => {
    const left = {
      called: -50,
      granted: -10,
      released: 100,
      process: 'p2',
      ttl: 200,
      until: 180,
      release: 'expire',
    } as const;
    const extended = [
      { type: 'extend', at: 50, ttlMs: 3_000 },
      { type: 'extended', at: 51, code: 'ok' },
    ] as const;
    const history = (...more: readonly (typeof extended)[number][]) =>
      made()
        .operation('b', left, ...more)
        .operation('a', { called: 0, wait: 3_500, refused: 3_500, code: 'LOCK_WAIT_TIMEOUT' });
    expect(history().violations()).toHaveLength(1);
    expect(history(...extended).violations()).toEqual([]);
  });

  it('reports a late grant of a free lock', () => {
    const history = (granted: number) =>
      made()
        .operation('b', { called: -50, granted: -10, released: 100, process: 'p2' })
        .operation('a', { called: 0, wait: 2_000, granted, released: granted + 10, token: 2 });
    expect(history(1_000).violations()).toEqual([]);
    expect(history(1_200).violations()).toEqual([
      'free locks: a waited, although k was free for 1100 ms, 100 ms after its call',
    ]);
  });

  it('reports a wait beside free permits, unless another waiter may need them first', () => {
    const inUse = { ...semaphore, called: -50, granted: -10, released: 9_000, process: 'p2' };
    const history = (weight: number) =>
      made()
        .operation('b', { ...inUse, weight })
        .operation('a', { ...semaphore, ...waits });
    expect(history(3).violations()).toEqual([]);
    expect(history(2).violations()).toHaveLength(1);
    const other = { ...semaphore, wait: 9_000, aborted: 2_050, refused: 2_050, code: 'LOCK_ABORTED', process: 'p3' };
    const beside = (called: number, weight: number) =>
      history(2)
        .operation('c', { ...other, called, weight })
        .violations();
    expect(beside(0, 2)).toEqual([]);
    expect(beside(200, 2)).toEqual([]);
    expect(beside(200, 1)).toHaveLength(1);
  });

  it('reports a reader that waits although only readers hold the lock', () => {
    const reader = { kind: 'read', called: 100, wait: 5_500 } as const;
    const history = (granted: number) =>
      made()
        .operation('b', { kind: 'read', called: 0, granted: 1, released: 6_000, token: 2, process: 'p2' })
        .operation('a', { ...reader, granted, released: granted + 10 });
    expect(history(2_600).violations()).toEqual([]);
    expect(history(2_700).violations()).toEqual([
      'free locks: a waited, although k was free for 2600 ms, 0 ms after its call',
    ]);
    const writer = { kind: 'write', called: 50, wait: 2_000, process: 'p3' } as const;
    const behind = history(2_700).operation('c', { ...writer, refused: 2_050, code: 'LOCK_WAIT_TIMEOUT' });
    expect(behind.violations()).toEqual([]);
  });

  it('accepts that a multi-key call keeps the first keys while it waits for the last', () => {
    const several = { called: 0, wait: 2_000, refused: 2_000, code: 'LOCK_WAIT_TIMEOUT', process: 'p2' };
    const taken = { called: -50, granted: -10, released: 9_000, process: 'p3' };
    const history = (last: string) =>
      made()
        .operation('b', { ...taken, keys: [last] })
        .operation('c', { ...several, keys: [last, 'k'] })
        .operation('a', waits);
    expect(history('z').violations()).toEqual([]);
    expect(history('a').violations()).toHaveLength(1);
  });

  it('allows more time after a fault', () => {
    expect(
      made()
        .run({ ...cut, from: 0, at: 10 })
        .operation('a', waits)
        .violations(),
    ).toEqual([]);
  });

  it('reports a probe that is refused', () => {
    const probe = { ...waits, probe: true } as const;
    expect(
      made()
        .run({ ...cut, from: 0, at: 10 })
        .operation('a', probe)
        .violations(),
    ).toEqual(['outcomes: a did not get a lock that had to be free']);
  });
});

describe('The rule of clean-up', () => {
  it('reports keys that are left, keys without a TTL, and processes that did not end', () => {
    expect(made().run({ type: 'left', what: 'key lock:k', at: 1 }).violations()).toEqual([
      'clean-up: left behind key lock:k',
    ]);
    expect(made().run({ type: 'persistent', key: 'lock:k', at: 1 }).violations()).toEqual([
      'clean-up: lock:k has no TTL',
    ]);
    expect(made().run({ type: 'exited', of: 'p1', byItself: false, at: 1 }).violations()).toEqual([
      'clean-up: process p1 crashed, or did not end after its shutdown',
    ]);
    expect(made().run({ type: 'exited', of: 'p1', byItself: true, at: 1 }).violations()).toEqual([]);
  });
});

describe('The rule of order', () => {
  const early = { ...semaphore, called: 0, wait: 5_000, sent: 895, granted: 900, released: 910, token: 2 };
  const late = { ...semaphore, called: 300, wait: 5_000, granted: 500, released: 510, token: 1, process: 'p2' };
  const message = ['order: k: b was served before a, which came 300 ms earlier'];

  it('reports a caller of a semaphore that overtakes another one', () => {
    expect(made().operation('a', early).operation('b', late).violations()).toEqual(message);
    expect(
      made()
        .operation('a', { ...early, sent: 475, granted: 480 })
        .operation('b', late)
        .violations(),
    ).toEqual([]);
    const stood = (from: number, to: number) =>
      made().operation('a', early).operation('b', late).standstill('p1', from, to);
    expect(stood(20, 90).violations()).toEqual(message);
    expect(stood(20, 300).violations()).toEqual([]);
    expect(stood(320, 480).violations()).toEqual(message);
  });

  it('reports a caller that was overtaken and never served', () => {
    const history = (refused: number, code: string) =>
      made()
        .operation('a', { ...semaphore, called: 0, wait: 900, aborted: refused, refused, code })
        .operation('b', late);
    expect(history(900, 'LOCK_WAIT_TIMEOUT').violations()).toEqual(message);
    expect(history(900, 'LOCK_ABORTED').violations()).toEqual(message);
    expect(history(540, 'LOCK_ABORTED').violations()).toEqual([]);
  });

  it('allows for late turns of the event loop between a message and the answer to its claim', () => {
    const seen = (granted: number) =>
      made()
        .operation('a', { ...early, sent: granted - 1, granted, released: granted + 10 })
        .operation('b', late)
        .standstill('p1', 502, 525)
        .standstill('p1', 530, 555);
    expect(seen(560).violations()).toEqual([]);
    expect(seen(600).violations()).toEqual(message);
  });

  it('allows for a late reply to the claim, but not for a late permit of the same process', () => {
    const claimed = (sent: number, leases: number) =>
      made()
        .operation('a', { ...early, sent, leases })
        .operation('b', late);
    expect(claimed(540, 1).violations()).toEqual([]);
    expect(claimed(560, 1).violations()).toEqual(message);
    expect(claimed(540, 2).violations()).toEqual(message);
    // Nothing is seen late in simulated time.
    expect(claimed(540, 1).violations(checkExactHistory)).toEqual(message);
  });

  it('reports it for two callers with strict fairness', () => {
    const alone = { kind: 'exclusive', permits: undefined, fair: 'strict' } as const;
    const history = (fair: 'strict' | 'process') =>
      made()
        .operation('a', { ...early, ...alone })
        .operation('b', { ...late, ...alone, fair });
    expect(history('strict').violations()).toEqual(message);
    expect(history('process').violations()).toEqual([]);
  });
});
