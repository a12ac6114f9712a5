import { HandMade } from './check/hand-made.js';

const made = (): HandMade => new HandMade();
const held = { called: 0, granted: 10, released: 50 };
const semaphore = { kind: 'semaphore', permits: 3 } as const;
const cut = { type: 'fault', name: 'cut', cutOff: false } as const;

describe('The rule of exclusion', () => {
  const second = { called: 20, granted: 40, released: 60, token: 2, process: 'p2' };

  it('accepts consecutive holders', () => {
    expect(
      made()
        .operation('a', held)
        .operation('b', { ...second, granted: 50 })
        .violations(),
    ).toEqual([]);
  });

  it('reports two holders at the same time', () => {
    expect(made().operation('a', held).operation('b', second).violations()).toEqual([
      'exclusion: k is held at the same time by a, b',
    ]);
  });

  it('counts the nested calls of a holder, also after its end, and not against each other', () => {
    const nested = { call: 'withLock', called: 20, granted: 21, inside: 'a', reentrant: true } as const;
    const history = made()
      .operation('a', held)
      .operation("a'0", { ...nested, released: 80 })
      .operation("a'1", { ...nested, released: 90 })
      .operation("a'1'0", { ...nested, inside: "a'1", called: 60, granted: 60, released: 95 });
    expect(history.violations()).toEqual([]);
    history.operation('b', { ...second, granted: 93, released: 99 });
    expect(history.violations()).toEqual(["exclusion: k is held at the same time by a'1'0, b"]);
  });

  it('reports a reader beside a nested writer, though the outer call reads', () => {
    const nested = { called: 20, granted: 21, released: 90, inside: 'a', reentrant: true } as const;
    const history = made()
      .operation('a', { ...held, downgraded: 30 }, { type: 'downgraded', at: 31, code: 'ok' })
      .operation("a'", nested)
      .operation('b', { ...second, granted: 70, released: 75, kind: 'read' });
    expect(history.violations()).toEqual(["exclusion: k is held at the same time by a', b (reads)"]);
  });

  it('reports a writer beside a reader, in either order', () => {
    const read = { kind: 'read' } as const;
    expect(
      made()
        .operation('a', { ...held, ...read })
        .operation('b', second)
        .violations(),
    ).toHaveLength(1);
    expect(
      made()
        .operation('a', held)
        .operation('b', { ...second, ...read })
        .violations(),
    ).toHaveLength(1);
    expect(
      made()
        .operation('a', { ...held, ...read })
        .operation('b', { ...second, ...read })
        .violations(),
    ).toEqual([]);
  });

  it('treats a writer whose downgrade was rejected as a writer', () => {
    const history = (code: string) =>
      made()
        .operation('a', { ...held, downgraded: 30 }, { type: 'downgraded', at: 35, code })
        .run({ ...cut, from: 0, at: 1 })
        .operation('b', { ...second, kind: 'read' });
    expect(history('ok').violations()).toEqual([]);
    expect(history('LOCK_UNAVAILABLE').violations()).toEqual(['exclusion: k is held at the same time by a, b (reads)']);
    const closed = history('LOCK_UNAVAILABLE').shutdown('p1', 33);
    expect(closed.violations()).toEqual([]);
  });

  it('treats a writer as a reader after its downgrade', () => {
    const reader = { ...second, kind: 'read' } as const;
    expect(
      made()
        .operation('a', { ...held, downgraded: 30 })
        .operation('b', reader)
        .violations(),
    ).toEqual([]);
    expect(
      made()
        .operation('a', { ...held, downgraded: 45 })
        .operation('b', reader)
        .violations(),
    ).toHaveLength(1);
    expect(
      made()
        .operation('a', { ...held, downgraded: 30 })
        .operation('b', second)
        .violations(),
    ).toHaveLength(1);
  });

  it('reports one of several keys', () => {
    const both = made()
      .operation('a', { ...held, keys: ['j', 'k'] })
      .operation('b', second);
    expect(both.violations()).toEqual(['exclusion: k is held at the same time by a, b']);
  });

  it('reports more weight than permits', () => {
    const first = { ...held, ...semaphore, weight: 2 };
    const fits = made()
      .operation('a', first)
      .operation('b', { ...second, ...semaphore, weight: 1 });
    const tooMuch = made()
      .operation('a', first)
      .operation('b', { ...second, ...semaphore, weight: 2 });
    expect(fits.violations()).toEqual([]);
    expect(tooMuch.violations()).toEqual(['exclusion: k is held at the same time by a, b']);
  });

  it('compares the weight with the largest number of permits in use', () => {
    const more = { ...semaphore, permits: 4 };
    const history = (weight: number) =>
      made()
        .operation('a', { ...held, ...more, weight: 2 })
        .operation('b', { ...second, ...semaphore, weight });
    expect(history(2).violations()).toEqual([]);
    expect(history(3).violations()).toEqual(['exclusion: k is held at the same time by a, b']);
  });

  it('ends the hold of a stopped process with its last proof, and not before', () => {
    const stopped = { called: 0, granted: 10, notHeld: 90, released: 90 };
    const next = { ...second, called: 40 };
    const history = (until: number) =>
      made()
        .operation('a', { ...stopped, until })
        .standstill('p1', 11, 90)
        .operation('b', next);
    expect(
      history(39)
        .run({ ...cut, from: 0, at: 1 })
        .violations(),
    ).toEqual([]);
    expect(
      history(41)
        .run({ ...cut, from: 0, at: 1 })
        .violations(),
    ).toEqual(['exclusion: k is held at the same time by a, b']);
  });

  it('ends a hold with the loss of the data', () => {
    const lossy = made().operation('a', held).run({ type: 'data-lost', name: 'flush-all', from: 30, at: 35 });
    expect(lossy.operation('b', { ...second, called: 36 }).violations()).toEqual([]);
    const other = made()
      .operation('a', held)
      .run({ type: 'data-lost', name: 'delete-key', key: 'j', from: 30, at: 35 });
    expect(other.operation('b', { ...second, called: 36 }).violations()).toHaveLength(1);
  });
});
