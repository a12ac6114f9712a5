import { made, semaphore } from './hand-made.js';

describe('The rule of order', () => {
  const early = { ...semaphore, called: 0, wait: 5_000, granted: 900, released: 910, token: 2 };
  const late = { ...semaphore, called: 300, wait: 5_000, granted: 500, released: 510, token: 1, process: 'p2' };
  const message = ['order: k: b was served before a, which came 300 ms earlier'];

  it('reports a caller of a semaphore that overtakes another one', () => {
    expect(made().operation('a', early).operation('b', late).violations()).toEqual(message);
    expect(
      made()
        .operation('a', { ...early, granted: 480 })
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
        .operation('a', { ...early, granted, released: granted + 10 })
        .operation('b', late)
        .standstill('p1', 502, 525)
        .standstill('p1', 530, 555);
    expect(seen(560).violations()).toEqual([]);
    expect(seen(600).violations()).toEqual(message);
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

  it('reports a caller that overtakes another one of its process', () => {
    const history = (process: string, options = {}) =>
      made()
        .operation('a', { called: 0, wait: 500, granted: 200, released: 210, token: 2 })
        .operation('b', { called: 5, wait: 500, granted: 100, released: 110, process, ...options });
    expect(history('p1').violations()).toEqual(['order: k: b was served before a, which came 5 ms earlier']);
    expect(history('p2').violations()).toEqual([]);
    expect(history('p1', { fair: 'strict' }).violations()).toEqual([]);
  });
});
