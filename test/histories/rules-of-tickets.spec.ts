import { HandMade } from './check/hand-made.js';

const made = (): HandMade => new HandMade();
const TTL_MS = 400;
const from = { called: 0, granted: 10, token: 1 };

/** A history in which `a` detaches its lease between 50 and 60. */
const detached = (code = 'ok', made_ = made()): HandMade =>
  made_.operation(
    'a',
    from,
    { type: 'detach', at: 50, ttlMs: TTL_MS, held: true },
    { type: 'detached', at: 60, code },
    { type: 'released', at: 61 },
  );
const attach = { call: 'attach', process: 'p2', called: 100, granted: 110, released: 150, token: 2 } as const;
const other = { process: 'p3', called: 200, granted: 210, released: 220, token: 3 };

describe('The rules of tickets', () => {
  it('accept a ticket that is used once, and a holder after that', () => {
    const history = detached()
      .operation('b', { ...attach, ticket: 'a' })
      .operation('c', other);
    expect(history.violations()).toEqual([]);
  });

  it('report a grant during a detached lease', () => {
    expect(detached().operation('c', other).violations()).toEqual(['exclusion: k is held at the same time by a, c']);
    const late = { ...other, called: 460, granted: 470, released: 480 };
    expect(detached().operation('c', late).violations()).toEqual([]);
  });

  it('report a grant before the ticket is attached', () => {
    const early = { ...other, called: 70, granted: 80, released: 90 };
    const history = detached()
      .operation('c', early)
      .operation('b', { ...attach, ticket: 'a', token: 4 });
    expect(history.violations()).toEqual(['exclusion: k is held at the same time by a, c']);
  });

  it('accept a grant during a lease that was cancelled, whose data was lost, or that was not detached', () => {
    expect(
      detached().cancel('x', { ticket: 'a', called: 100, cancelled: true }).operation('c', other).violations(),
    ).toEqual([]);
    const flushed = detached().run({ type: 'data-lost', name: 'flush-all', from: 100, at: 105 });
    expect(flushed.operation('c', other).violations()).toEqual([]);
    const failed = detached('LOCK_UNAVAILABLE').run({ type: 'fault', name: 'cut', cutOff: false, from: 40, at: 60 });
    expect(failed.operation('c', other).violations()).toEqual([]);
  });

  it('accept an extension right before the detachment, which no process samples', () => {
    const history = made().operation(
      'a',
      { ...from, until: 300 },
      { type: 'extend', at: 40, ttlMs: 2_000 },
      { type: 'extended', at: 45, code: 'ok' },
      { type: 'detach', at: 50, ttlMs: TTL_MS, held: true },
      { type: 'detached', at: 60, code: 'ok' },
      { type: 'released', at: 61 },
    );
    expect(history.violations()).toEqual([]);
  });

  it('report a ticket that is used twice', () => {
    const again = { ...attach, process: 'p3', called: 300, granted: 310, released: 320, token: 3, ticket: 'a' };
    const history = detached()
      .operation('b', { ...attach, ticket: 'a' })
      .operation('c', again);
    expect(history.violations()).toEqual(['tickets: the ticket of a was used by b (attach) and c (attach)']);
    const cancelled = detached()
      .operation('b', { ...attach, ticket: 'a' })
      .cancel('x', { ticket: 'a', called: 200, cancelled: true });
    expect(cancelled.violations()).toEqual(['tickets: the ticket of a was used by b (attach) and x (cancel)']);
  });

  it('report a ticket that is used after its end', () => {
    const late = { ...attach, called: 500, granted: 510, released: 520, ticket: 'a' };
    expect(detached().operation('b', late).violations()).toEqual([
      'tickets: the ticket of a was used by b 27 ms after its end',
    ]);
  });

  it('report fencing tokens that do not rise, also of permits', () => {
    for (const options of [{}, { kind: 'semaphore', permits: 2 } as const]) {
      const history = made()
        .operation(
          'a',
          { ...from, token: 5, ...options },
          { type: 'detach', at: 50, ttlMs: TTL_MS, held: true },
          { type: 'detached', at: 60, code: 'ok' },
        )
        .operation('b', { ...attach, ...options, ticket: 'a', token: 5 });
      expect(history.violations()).toContain('tickets: the ticket of a was used by b with the token 5 of k');
    }
  });

  it('report a valid ticket that is useless', () => {
    const refused = {
      call: 'attach',
      process: 'p2',
      called: 100,
      refused: 110,
      code: 'LEASE_LOST',
      ticket: 'a',
    } as const;
    expect(detached().operation('b', refused).violations()).toEqual([
      'outcomes: b was refused with LEASE_LOST after 10.0 of 0 ms: ',
    ]);
    expect(detached().cancel('x', { ticket: 'a', called: 100, cancelled: false }).violations()).toEqual([
      'tickets: the ticket of a was useless for x (cancel) without a cause',
    ]);
    const used = detached().operation('b', { ...attach, ticket: 'a' });
    expect(used.operation('c', { ...refused, called: 120, refused: 125 }).violations()).toEqual([]);
    expect(
      detached()
        .operation('b', { ...refused, called: 445, refused: 450 })
        .violations(),
    ).toEqual([]);
  });

  it('report a ticket that is not issued without a cause', () => {
    expect(detached('LOCK_UNAVAILABLE').violations()).toEqual([
      'tickets: the ticket of a was not issued: detach() ended with LOCK_UNAVAILABLE',
    ]);
  });

  it('report a lock that stays taken after the ticket was cancelled, and none while the lease is detached', () => {
    const waiting = { process: 'p3', called: 70, wait: 5_000, token: 3 };
    const longer = made().operation(
      'a',
      from,
      { type: 'detach', at: 50, ttlMs: 4_000, held: true },
      { type: 'detached', at: 60, code: 'ok' },
    );
    const served = { ...waiting, granted: 4_060, released: 4_070 };
    expect(longer.operation('c', served).violations()).toEqual([]);
    expect(longer.cancel('x', { ticket: 'a', called: 100, cancelled: true }).violations()).toHaveLength(1);
  });
});
