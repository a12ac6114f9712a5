import { HandMade } from './check/hand-made.js';

const made = (): HandMade => new HandMade();
const held = { called: 0, granted: 10, released: 50 };
const semaphore = { kind: 'semaphore', permits: 3 } as const;

describe('The rule of contention', () => {
  const refused = { called: 100, refused: 105 };
  const message = ['contention: a was refused because of a holder of k, but no caller can have held it'];

  it('reports contention for a lock without a holder', () => {
    expect(made().operation('a', refused).violations()).toEqual(message);
    expect(made().operation('b', held).operation('a', refused).violations()).toEqual(message);
    expect(
      made()
        .operation('b', { ...held, released: 102 })
        .operation('a', refused)
        .violations(),
    ).toEqual([]);
  });

  it('accepts a reader that is excluded by a writer, and a permit that is excluded by others', () => {
    const beside = (other: object, own: object) =>
      made()
        .operation('b', { ...held, released: 200, ...other })
        .operation('a', { ...refused, ...own })
        .violations();
    expect(beside({ kind: 'read' }, { kind: 'read' })).toEqual(message);
    expect(beside({}, { kind: 'read' })).toEqual([]);
    expect(beside({ ...semaphore, weight: 2 }, semaphore)).toEqual(message);
    expect(beside({ ...semaphore, weight: 3 }, semaphore)).toEqual([]);
  });

  it('accepts that callers behind an outage cannot have the lock', () => {
    const outage = { type: 'fault', name: 'stop-server', from: 0, at: 900, cutOff: true } as const;
    const waiting = { called: 50, wait: 2_000, granted: 1_000, released: 1_010 };
    expect(made().run(outage).operation('b', waiting).operation('a', refused).violations()).toEqual(message);
    expect(made().operation('b', waiting).operation('a', refused).violations()).toEqual([]);
  });

  it('reports contention in an outage, except for a lease of the same process', () => {
    const outage = { type: 'fault', name: 'refuse', from: 200, cutOff: true, of: 'p1' } as const;
    const late = { called: 2_900, refused: 3_000 };
    const other = { called: -50, granted: -10, released: 9_000, process: 'p2' };
    const history = (at: number, more: object = {}) =>
      made()
        .run({ ...outage, at })
        .operation('b', { ...other, ...more })
        .operation('a', late);
    expect(history(3_500).violations()).toEqual([
      'contention: a was refused because of a holder of k, but its process had no answer for 2800 ms',
    ]);
    expect(history(2_900).violations()).toEqual([]);
    expect(history(3_500, { process: 'p1' }).violations()).toEqual([]);
    const waits = { called: 2_900, wait: 100, refused: 3_000, code: 'LOCK_WAIT_TIMEOUT' };
    expect(
      made()
        .run({ ...outage, at: 3_500 })
        .operation('b', other)
        .operation('a', waits)
        .violations(),
    ).toHaveLength(1);
  });

  it('accepts an answer just before the end of the outage is recorded', () => {
    const other = { called: 500, granted: 501, released: 5_000, process: 'p2' };
    const history = (refusedAt: number) =>
      made()
        .operation('b', other)
        .run({ type: 'fault', name: 'half-open', from: 1_000, at: 3_000, cutOff: true, of: 'p1' })
        .operation('a', { called: 2_700, refused: refusedAt });
    expect(history(2_999).violations()).toEqual([]);
    expect(history(2_900).violations()).toHaveLength(1);
    const restart = { type: 'fault', name: 'restart-server', from: 2_900, at: 3_600, cutOff: true } as const;
    const taken = (sent: number) =>
      made()
        .run(restart)
        .operation('b', { called: 3_000, sent, granted: sent + 9, released: sent + 19, process: 'p2' })
        .operation('a', { called: sent - 11, refused: sent + 4 });
    expect(taken(3_560).violations()).toEqual([]);
    expect(taken(3_500).violations()).toHaveLength(1);
  });

  it('reports contention in an outage for a permit that the process does not hold', () => {
    const outage = { type: 'fault', name: 'refuse', from: 1_000, at: 5_500, cutOff: true, of: 'p1' } as const;
    const permits = { kind: 'semaphore', permits: 3 } as const;
    const history = (weight: number) =>
      made()
        .operation('b', { ...permits, weight, called: 0, granted: 1, released: 6_000 })
        .operation('c', {
          ...permits,
          weight: 3 - weight,
          called: 1_500,
          granted: 1_501,
          released: 6_000,
          process: 'p2',
          token: 2,
        })
        .run(outage)
        .operation('a', { ...permits, called: 5_000, refused: 5_010 });
    expect(history(1).violations()).toHaveLength(1);
    const ahead = {
      ...permits,
      weight: 2,
      called: 4_000,
      wait: 9_000,
      aborted: 6_000,
      refused: 6_000,
      code: 'LOCK_ABORTED',
    };
    expect(history(1).operation('d', ahead).violations()).toEqual([]);
    const all = made()
      .operation('b', { ...permits, weight: 3, called: 0, granted: 1, released: 6_000 })
      .run(outage)
      .operation('a', { ...permits, called: 5_000, refused: 5_010 });
    expect(all.violations()).toEqual([]);
  });

  it('accepts a refusal behind a caller with fewer permits, which waits', () => {
    const of = (permits: number, process: string) => ({ kind: 'semaphore', permits, process }) as const;
    const history = made()
      .operation('b', { ...of(4, 'p1'), weight: 2, called: 0, granted: 1, released: 600 })
      .operation('a', { ...of(4, 'p1'), called: 500, refused: 510 });
    expect(history.violations()).toHaveLength(1);
    const ahead = { ...of(2, 'p2'), wait: 900, called: 400, granted: 601, released: 610, token: 2 };
    expect(history.operation('d', ahead).violations()).toEqual([]);
  });

  it('accepts that a process that stands still releases a key late after "minHold"', () => {
    const kept = { called: 0, granted: 1, released: 5, minHold: 60, ttl: 400, until: 390, process: 'p2' } as const;
    const history = () => made().operation('b', kept).operation('a', { called: 300, refused: 310 });
    expect(history().violations()).toHaveLength(1);
    expect(history().standstill('p2', 6, 360).violations()).toEqual([]);
  });

  it('accepts that a key stays taken until it expires', () => {
    const expires = { ...held, ttl: 400, until: 400, release: 'expire' } as const;
    expect(made().operation('b', expires).operation('a', refused).violations()).toEqual([]);
  });

  it('accepts that a process that blocks when a wait ends leaves its place after that', () => {
    const waits = { called: 0, wait: 50, refused: 50, code: 'LOCK_WAIT_TIMEOUT', process: 'p2' } as const;
    const history = (calledAt: number) =>
      made()
        .operation('c', { ...held, granted: 1, released: 49 })
        .operation('b', waits)
        .standstill('p2', 51, 2_051)
        .operation('a', { called: calledAt, refused: calledAt + 5 });
    expect(history(2_100).violations()).toEqual([]);
    expect(history(2_300).violations()).toEqual(message);
  });
});
