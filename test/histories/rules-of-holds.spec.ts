import { HandMade } from './check/hand-made.js';

const made = (): HandMade => new HandMade();
const held = { called: 0, granted: 10, released: 50 };
const semaphore = { kind: 'semaphore', permits: 3 } as const;
const cut = { type: 'fault', name: 'cut', cutOff: false } as const;

describe('The rule of fencing tokens', () => {
  const second = { called: 50, granted: 60, released: 70, process: 'p2' };

  it('reports a token that does not rise', () => {
    const history = (token: number) =>
      made()
        .operation('a', { ...held, token: 7 })
        .operation('b', { ...second, token });
    expect(history(8).violations()).toEqual([]);
    const message = (token: number) => [`fencing: k: b has the token ${token}, although a was granted before with 7`];
    expect(history(7).violations()).toEqual(message(7));
    expect(history(6).violations()).toEqual(message(6));
  });

  it('lets readers share a token, and orders them against writers', () => {
    const reader = { ...second, kind: 'read' } as const;
    const later = { called: 80, granted: 90, released: 95 };
    const history = (token: number, last: number) =>
      made()
        .operation('a', { ...held, token: 7 })
        .operation('b', { ...reader, token })
        .operation('c', { ...reader, token })
        .operation('d', { ...later, token: last });
    expect(history(8, 9).violations()).toEqual([]);
    expect(history(7, 9).violations()).toHaveLength(2);
    expect(history(8, 8).violations()).toHaveLength(2);
  });

  it('reports a token of two permits, also when both calls were in progress', () => {
    const permit = { ...held, ...semaphore, token: 7 };
    expect(made().operation('a', permit).operation('b', permit).violations()).toEqual([
      'unique tokens: k: b has the token 7, although a was granted before with 7',
    ]);
  });

  it('lets readers share the token of a writer that was downgraded', () => {
    const reader = { called: 25, granted: 30, released: 70, kind: 'read' } as const;
    expect(
      made()
        .operation('a', { ...held, downgraded: 20 })
        .operation('b', reader)
        .violations(),
    ).toEqual([]);
  });

  it('orders permits when one call began after the grant of the other', () => {
    const first = { ...held, ...semaphore, token: 7 };
    const history = (called: number, token: number, sent = called) =>
      made()
        .operation('a', first)
        .operation('b', { ...semaphore, called, sent, granted: 40, released: 60, token });
    expect(history(20, 8).violations()).toEqual([]);
    expect(history(20, 6).violations()).toHaveLength(1);
    // both calls were in progress at the same time
    expect(history(5, 6).violations()).toEqual([]);
    expect(history(20, 6, 5).violations()).toEqual([]);
  });

  it('orders a permit that was handed over in memory behind the grants before its call', () => {
    const history = (token: number, leases = 2, called = 45) =>
      made()
        .operation('a', { ...held, ...semaphore, token: 5 })
        .operation('b', { ...semaphore, called: 20, granted: 40, released: 90, token: 7, process: 'p2' })
        .operation('c', { ...semaphore, called, sent: 0, leases, granted: 51, released: 60, token });
    expect(history(8).violations()).toEqual([]);
    expect(history(6).violations()).toEqual(['fencing: k: c has the token 6, although b was granted before with 7']);
    // its caller did not know of that grant
    expect(history(6, 2, 35).violations()).toEqual([]);
    // the store may have granted another permit before
    expect(history(6, 1).violations()).toEqual([]);
    // a process that has lost a message does not know of that grant
    const lost = history(6).run({ ...cut, from: 0, at: 1 });
    expect(lost.violations()).toEqual([]);
  });

  it('reports inner work with another token', () => {
    const inner = { called: 20, granted: 21, released: 30, inside: 'a', reentrant: true };
    const history = (token: number) =>
      made()
        .operation('a', held)
        .operation("a'", { ...inner, token });
    expect(history(1).violations()).toEqual([]);
    expect(history(2).violations()).toEqual(["fencing: a' runs inside a on k, but its token 2 is not 1"]);
  });

  it('accepts another token of inner work that began after the loss of the outer lease', () => {
    const outer = { ...held, until: 15, released: 40 };
    const history = (granted: number) =>
      made()
        .operation('a', outer, { type: 'lost', at: 20, code: 'LEASE_LOST', reason: 'blocked', message: 'late' })
        .operation("a'", { called: 12, granted, released: 30, inside: 'a', reentrant: true, token: 2 });
    const messages = (granted: number) =>
      history(granted)
        .violations()
        .filter((text) => text.includes('inside'));
    expect(messages(21)).toEqual([]);
    expect(messages(13)).toHaveLength(1);
  });
});

describe('The rule of the fenced register', () => {
  const second = { called: 50, granted: 60, released: 70, token: 2, process: 'p2' };
  const write = { type: 'write', key: 'k', token: 1, from: 20, at: 25, accepted: true, version: 1, seen: 0 } as const;
  const next = { ...write, token: 2, from: 61, at: 65, version: 2, seen: 1 };

  it('accepts writes that have seen all earlier ones', () => {
    expect(made().operation('a', held, write).operation('b', second, next).violations()).toEqual([]);
  });

  it('reports a refused write of a valid holder', () => {
    const refused = made().operation('a', held, { ...write, accepted: false });
    expect(refused.violations()).toEqual(['register: the write of a to k with 1 was refused']);
  });

  it('accepts a refused write of a holder that had lost its lease', () => {
    const late = { ...write, from: 45, at: 55, accepted: false };
    expect(made().operation('a', held, late).violations()).toEqual([]);
  });

  it('reports a write that overwrites one that it has not seen', () => {
    const history = made()
      .operation('a', held, write)
      .operation('b', second, { ...next, seen: 0 });
    expect(history.violations()).toEqual(['register: b overwrote k without having seen the write of a']);
  });
});

describe('The rule of leases', () => {
  const short = { ...held, ttl: 2_000 };
  const downgraded = {
    kind: 'write',
    called: 0,
    granted: 10,
    ttl: 2_000,
    until: 1_978,
    renew: false,
    downgraded: 100,
    released: 300,
  } as const;

  it('reports a lease that is proven for longer than its ttl', () => {
    expect(
      made()
        .operation('a', { ...short, until: 2_000 })
        .violations(),
    ).toEqual([]);
    expect(
      made()
        .operation('a', { ...short, until: 2_500 })
        .violations(),
    ).toEqual(['leases: the lease of a on k is proven for 2490 ms; its ttl is 2000 ms']);
  });

  it('reports a lease that is proven for longer than a ttl below the claim window', () => {
    const history = (until: number) => made().operation('a', { ...held, ttl: 400, until });
    expect(history(410).violations()).toEqual([]);
    expect(history(900).violations()).toEqual(['leases: the lease of a on k is proven for 890 ms; its ttl is 400 ms']);
  });

  it('reports a reader that inherits the ttl of another reader of its process', () => {
    const reader = { kind: 'read', called: 5_000, granted: 5_010, released: 5_050, ttl: 2_000 } as const;
    const history = (until: number) =>
      made()
        .operation('a', { ...held, kind: 'read', ttl: 9_000, until: 9_000, released: 5_100 })
        .operation('b', { ...reader, until });
    expect(history(7_010).violations()).toEqual([]);
    expect(history(9_000).violations()).toEqual([
      'leases: the lease of b on k is proven for 3990 ms; its ttl is 2000 ms',
    ]);
  });

  it('reports a renewal with renew: false', () => {
    const renewed = { type: 'proven', at: 40, until: 2_030 } as const;
    const history = (renew: boolean) => made().operation('a', { ...short, until: 1_900, renew }, renewed);
    expect(history(true).violations()).toEqual([]);
    expect(history(false).violations()).toEqual(['leases: the lease of a on k was renewed in spite of `renew: false`']);
  });

  it('lets `extend` lengthen it', () => {
    const extend = { type: 'extend', at: 30, ttlMs: 4_000 } as const;
    const proven = { type: 'proven', at: 40, until: 4_030 } as const;
    expect(
      made()
        .operation('a', { ...short, until: 1_900, renew: false }, extend, proven)
        .violations(),
    ).toEqual([]);
  });

  it('accepts that a downgraded lease joins a shorter one, which is renewed for its own ttl and no longer', () => {
    const history = (until: number) =>
      made().operation(
        'a',
        downgraded,
        { type: 'downgraded', at: 150, code: 'ok' },
        { type: 'proven', at: 160, until: 180 },
        { type: 'proven', at: 170, until },
      );
    expect(history(1_985).violations()).toEqual([]);
    expect(history(2_100).violations()).toEqual(['leases: the lease of a on k was renewed in spite of `renew: false`']);
  });

  it('lets a lease change in two ways at once', () => {
    const history = (until: number) =>
      made().operation(
        'a',
        downgraded,
        { type: 'extend', at: 110, ttlMs: 4_000 },
        { type: 'downgraded', at: 150, code: 'ok' },
        { type: 'proven', at: 150, until: 2_100 },
        { type: 'proven', at: 180, until: 4_110 },
        { type: 'extended', at: 180, code: 'ok' },
        { type: 'proven', at: 190, until: 4_110 },
        { type: 'proven', at: 200, until },
      );
    expect(history(4_110).violations()).toEqual([]);
    expect(history(4_190).violations()).toEqual(['leases: the lease of a on k was renewed in spite of `renew: false`']);
  });

  it('accepts that a key is lost in a stop for the longest hold of its multi-key call', () => {
    const history = (maxHold: number) =>
      made()
        .standstill('p1', 20, 1_020)
        .operation('a', { called: 0, maxHold, granted: 1_030, released: 1_040 }, { type: 'lost-waiting', at: 1_021 });
    expect(history(1_000).violations()).toEqual([]);
    expect(history(20_000).violations()).toEqual(['leases: the lease of a on k was lost without a cause']);
  });

  it('accepts a loss of a process that was stopped in slices for half of the ttl', () => {
    const history = (to: number) =>
      made()
        .standstill('p1', 20, 80)
        .standstill('p1', 100, to)
        .operation('a', { called: 0, granted: 10, ttl: 250, until: 247, lost: 250, released: 260 });
    expect(history(175).violations()).toEqual([]);
    expect(history(150).violations()).toEqual(['leases: the lease of a on k was lost without a cause']);
  });

  it('reports a loss of a process that was stopped for less than half of a long ttl', () => {
    const history = (to: number) =>
      made()
        .standstill('p1', 20, to)
        .operation('a', { called: 0, granted: 10, ttl: 20_000, until: 20_010, lost: to + 1, released: to + 2 });
    expect(history(10_100).violations()).toEqual([]);
    expect(history(9_900).violations()).toEqual(['leases: the lease of a on k was lost without a cause']);
  });

  it('reports a loss without a cause', () => {
    const lost = { ...short, until: 2_000, lost: 40 };
    expect(made().operation('a', lost).violations()).toEqual(['leases: the lease of a on k was lost without a cause']);
    expect(
      made()
        .operation('a', lost)
        .run({ ...cut, from: 5, at: 20 })
        .violations(),
    ).toEqual([]);
    expect(made().operation('a', lost).standstill('p1', -300, 5).violations()).toEqual([]);
  });

  it('reports a key that ended in Redis before its lease', () => {
    const lost = (reason: string) =>
      made()
        .operation('a', { ...short, until: 2_000, lost: 40, reason })
        .run({ ...cut, from: 5, at: 20 });
    expect(lost('outage').violations()).toEqual([]);
    expect(lost('taken').violations()).toEqual([
      'leases: the lease of a on k was lost for the reason "taken", though no data was lost',
    ]);
    expect(lost('taken').run({ type: 'data-lost', name: 'flush-all', from: 20, at: 30 }).violations()).toEqual([]);
  });

  it('reports a hold that is longer than `maxHold`', () => {
    expect(
      made()
        .operation('a', { ...short, until: 2_000, maxHold: 40 })
        .violations(),
    ).toEqual([]);
    expect(
      made()
        .operation('a', { ...short, until: 2_000, maxHold: 40, released: 150 })
        .violations(),
    ).toEqual(['leases: the lease of a on k was held for 140 ms; its maxHold is 40 ms']);
  });
});

describe('The end of a lease', () => {
  const renewed = { ...held, ttl: 200, until: 190, released: 900 };
  const flush = { type: 'data-lost', name: 'flush-all', from: 20, at: 30 } as const;
  const proven = (at: number, until: number) => ({ type: 'proven', at, until }) as const;

  it('comes a ttl after the loss of its data', () => {
    const history = (until: number) => made().operation('a', renewed, proven(60, until)).run(flush);
    expect(history(230).violations()).toEqual([]);
    expect(history(290).violations()).toEqual(['leases: the lease of a on k was proven although its data was lost']);
  });

  it('does not come when only helper keys of a single holder are lost', () => {
    const helpers = { type: 'data-lost', name: 'delete-helper', key: 'k', from: 20, at: 30 } as const;
    const history = (kind: object) =>
      made()
        .operation('a', { ...renewed, ...kind }, proven(60, 290))
        .run(helpers);
    expect(history({}).violations()).toEqual([]);
    expect(history(semaphore).violations()).toEqual([
      'leases: the lease of a on k was proven although its data was lost',
    ]);
  });

  it('comes later after an extension that was executed before the loss', () => {
    const history = (at: number) =>
      made()
        .operation(
          'a',
          renewed,
          { type: 'extend', at, ttlMs: 500 },
          { type: 'extended', at: 50, code: 'ok' },
          proven(51, 505),
        )
        .run(flush);
    expect(history(15).violations()).toEqual([]);
    expect(history(40).violations()).toContain('leases: the lease of a on k was proven although its data was lost');
  });

  it('is reported to the holder, once', () => {
    const lost = { ...held, renew: false, released: 900, notHeld: 50 };
    const loss = (at: number) => ({ type: 'lost', at, code: 'LEASE_LOST', message: '' }) as const;
    expect(made().operation('a', lost, loss(60)).violations()).toEqual([]);
    expect(made().operation('a', lost, loss(800)).violations()).toEqual([
      'leases: the lease of a on k ended, and its holder was not notified for 750 ms',
    ]);
    expect(made().operation('a', lost, loss(60), loss(70)).violations()).toEqual([
      'leases: the lease of a on k was reported as lost twice',
    ]);
  });

  it('is final', () => {
    const lost = { ...held, renew: false, released: 900, lost: 50 };
    expect(made().operation('a', lost, proven(70, 90)).violations()).toEqual([
      'leases: the lease of a on k was held again after its end',
    ]);
  });
});

describe('The rule of kept keys', () => {
  const second = { called: 60, granted: 70, released: 80, token: 2 };
  const message = ['kept keys: k is held at the same time by a, b'];

  it('reports a key that is granted to another caller within `minHold`', () => {
    const history = (minHold: number) =>
      made()
        .operation('a', { ...held, minHold })
        .operation('b', second);
    expect(history(60).violations()).toEqual([]);
    expect(history(90).violations()).toEqual(message);
    expect(
      history(90)
        .run({ ...cut, from: 20, at: 30 })
        .violations(),
    ).toEqual([]);
    expect(history(90).run({ type: 'killed', of: 'p1', at: 60 }).violations()).toEqual([]);
  });

  it('counts `minHold` from the start of the lease, also after a local hand-over', () => {
    const history = (minHold: number) =>
      made()
        .operation('a', { ...held, sent: -200, leases: 2, minHold })
        .operation('b', second);
    expect(history(60).violations()).toEqual([]);
    expect(history(90).violations()).toEqual(message);
  });

  it('reports a key that is granted to another caller before it expires', () => {
    const history = (ttl: number) =>
      made()
        .operation('a', { ...held, ttl, until: ttl, release: 'expire' })
        .operation('b', second);
    expect(history(60).violations()).toEqual([]);
    expect(history(90).violations()).toEqual(message);
  });
});
