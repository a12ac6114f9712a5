import { Board } from './board.js';
import type { BarReport, LockReport, Summary } from './summary.js';

const AT = 1_000_000;
const REF = 'default job';

const lock = (words: Partial<LockReport>): LockReport => ({
  ...{ ref: REF, name: 'Jobs.run', kind: 'exclusive', holders: 0, since: 0, until: 0, waiting: 0, waitingSince: 0 },
  ...words,
});

const hold = (start: number, words: Partial<BarReport> = {}): BarReport => ({
  ...{ number: start, ref: REF, name: 'Jobs.run', kind: 'exclusive', start, end: 0, outcome: 'open', count: 1 },
  ...words,
});

describe('Board', () => {
  let board: Board;
  let number: number;

  beforeEach(() => ([board, number] = [new Board(), 0]));

  const receive = (at: number, words: Partial<Summary>): void => {
    const summary: Summary = {
      ...{ instance: 'a', label: 'A', number: number++, at, locks: [], gone: [], bars: [] },
      ...{ waiting: 0, waitingSince: 0, lost: 0 },
      ...words,
    };
    board.receive(summary, at);
  };
  const waits = () =>
    board.barsOf(REF).flatMap(({ kind, start, end, count }) => (kind === 'wait' ? [[start, end, count]] : []));

  it('ends the bar of waiting callers when the hold of one of them begins', () => {
    receive(AT, { locks: [lock({ waiting: 2, waitingSince: AT - 50 })] });
    receive(AT + 3_000, {
      locks: [lock({ holders: 1, since: AT + 2_800, waiting: 1, waitingSince: AT - 50 })],
      bars: [hold(AT + 2_800)],
    });
    receive(AT + 6_000, { gone: [REF], bars: [hold(AT + 2_800, { end: AT + 4_000 }), hold(AT + 5_900)] });

    expect(waits()).toEqual([
      [AT - 50, AT + 2_800, 2],
      [AT + 2_800, AT + 5_900, 1],
    ]);
  });

  it('ends the bar of waiting callers with the report when no hold began', () => {
    receive(AT, { locks: [lock({ waiting: 2, waitingSince: AT })], bars: [hold(AT - 500)] });
    receive(AT + 3_000, { gone: [REF], bars: [hold(AT - 500, { end: AT + 2_000 })] });

    expect(waits()).toEqual([[AT, AT + 3_000, 2]]);
  });

  it('draws callers that arrive together as one bar, and later ones as the next bar', () => {
    receive(AT, { locks: [lock({ waiting: 1, waitingSince: AT })] });
    receive(AT + 300, { locks: [lock({ waiting: 4, waitingSince: AT })] });
    receive(AT + 2_000, { locks: [lock({ waiting: 5, waitingSince: AT })] });

    expect(waits()).toEqual([
      [AT, AT + 2_000, 4],
      [AT + 2_000, 0, 5],
    ]);
  });

  describe('with a detached lease', () => {
    const detached = (start: number, end: number): BarReport => hold(start, { end, outcome: 'detached' });
    const end = AT + 60_000;
    const tails = () => board.barsOf(REF).flatMap((bar) => (bar.outcome === 'detached' ? [bar.tail] : []));

    beforeEach(() => receive(AT + 1_000, { gone: [REF], bars: [detached(AT, AT + 900)] }));

    it('counts the lock as held, and finds it for a forced release', () => {
      expect(board.locks()).toMatchObject({ held: 1, all: [{ ref: REF, name: 'Jobs.run', holders: [] }] });
      expect(board.elsewhere.get(REF)).toEqual(['', 0, 1]);
      expect(board.find(board.idOf(REF))).toMatchObject({ ref: REF });
    });

    it('draws the lease up to the end that the store names', () => {
      const { revision } = board;
      board.found(new Map([[REF, ['', end, 1]]]));
      board.found(new Map([[REF, ['', end + 20, 1]]]));

      expect(tails()).toEqual([end]);
      expect(board.locks().all).toMatchObject([{ until: end }]);
      expect(board.barsSince(revision, new Set([REF]))).toHaveLength(1);
      expect(board.revision).toBe(revision + 1);
    });

    it.each([
      ['is free', undefined],
      ['has another holder', ['host 7', end, 0] as const],
    ])('forgets the lease when the store says that the lock %s', (_, holder) => {
      board.found(new Map([[REF, ['', end, 1]]]));
      board.found(new Map([[REF, holder]]), board.revision, AT + 5_000);

      expect(tails()).toEqual([AT + 5_000]);
      expect(board.locks()).toEqual({ all: [], held: 0 });
      expect(board.elsewhere.get(REF)).toEqual(holder);
    });

    it('keeps the lease when the answer of the store is older', () => {
      const { revision } = board;
      receive(AT + 2_000, { bars: [hold(AT + 1_500, { number: 1, end: AT + 1_800, outcome: 'detached' })] });
      board.found(new Map([[REF, undefined]]), revision);

      expect(board.detachedLocks).toEqual([REF]);
    });

    it('ends the lease when the next hold begins', () => {
      receive(AT + 3_000, { locks: [lock({ holders: 1 })], bars: [hold(AT + 2_500, { number: 1 })] });

      expect(tails()).toEqual([AT + 2_500]);
      expect(board.detachedLocks).toEqual([]);
      expect(board.elsewhere.size).toBe(0);
    });

    it('keeps the lease of a semaphore when another hold begins', () => {
      const ref = 'default pool';
      const kind = 'semaphore';
      receive(AT, { bars: [hold(AT, { number: 5, ref, kind, end: AT + 1, outcome: 'detached' })] });
      receive(AT, { bars: [hold(AT + 2, { number: 6, ref, kind })] });

      expect(board.detachedLocks).toEqual([REF, ref]);
    });
  });

  it('names a lock after its latest calls, refused calls included', () => {
    receive(AT, { bars: [hold(AT, { name: 'Jobs.run', kind: 'read' })] });
    receive(AT, { bars: [hold(AT + 1, { name: 'Jobs.skip', kind: 'LOCK_CONTENDED', outcome: 'refused' })] });
    receive(AT, { bars: ['Jobs.b', 'Jobs.c'].map((name, i) => hold(AT + 2 + i, { name, kind: 'read' })) });

    expect(board.titleOf(REF)).toEqual({ names: ['Jobs.skip', 'Jobs.b', 'Jobs.c'], kind: 'read' });
  });
});
