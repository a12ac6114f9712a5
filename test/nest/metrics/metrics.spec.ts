import { setTimeout as delay } from 'node:timers/promises';

import { eventually } from '../../support/eventually.js';
import { useRedis } from '../../support/use-redis.js';
import { Application, type Measured, type Metrics, type Point, type Report } from './application.js';

/** Names as each library has them. */
const DIALECTS = {
  prometheus: {
    wait: 'distribute_lock_wait_duration_seconds',
    hold: 'distribute_lock_hold_duration_seconds',
    lost: 'distribute_lock_lost_total',
    handover: 'distribute_lock_handover_total',
    waiting: 'distribute_lock_waiting',
    held: 'distribute_lock_held',
    lag: 'distribute_lock_renewal_lag_seconds',
    degraded: 'distribute_lock_degraded',
    label: (name: string) => name.replaceAll('.', '_'),
  },
  otel: {
    wait: 'distribute_lock.wait.duration',
    hold: 'distribute_lock.hold.duration',
    lost: 'distribute_lock.lost',
    handover: 'distribute_lock.handover',
    waiting: 'distribute_lock.waiting',
    held: 'distribute_lock.held',
    lag: 'distribute_lock.renewal.lag',
    degraded: 'distribute_lock.degraded',
    label: (name: string) => name,
  },
} as const;
type Library = keyof typeof DIALECTS;
const LIBRARIES = ['prometheus', 'otel'] as const;

/** The wait of the calls that time out. */
const WAIT_MS = 80;
/** What the application measures has one of these outcomes in the metrics. */
const OUTCOMES: Readonly<Record<string, string>> = {
  acquired: 'acquired',
  LOCK_CONTENDED: 'contended',
  LOCK_WAIT_TIMEOUT: 'timeout',
};

describe('Metrics and traces of an application with two processes', () => {
  const redis = useRedis();
  let a: Application;
  let b: Application;
  let reports: Record<'a' | 'b', Report>;

  beforeAll(async () => {
    [a, b] = await Promise.all([
      Application.start(redis.url, redis.prefix),
      Application.start(redis.url, redis.prefix),
    ]);
    await load();
    reports = { a: await a.report(), b: await b.report() };
  }, 60_000);

  /** The scripted load. The numbers below count what it does. */
  async function load(): Promise<void> {
    // The first calls of a process compile code, which takes longer than the tolerance.
    for (const app of [a, b]) await app.do('warm', 10);
    for (let i = 0; i < 20; i += 1) {
      await a.do('acquire', { key: `secret ${i}`, name: 'free' });
      await a.do('release', `secret ${i}`);
    }
    // contended and timed out
    await a.do('acquire', { key: 'busy', name: 'busy' });
    for (let i = 0; i < 5; i += 1) await b.do('acquire', { key: 'busy', name: 'busy', wait: 0 });
    for (let i = 0; i < 3; i += 1) await b.do('acquire', { key: 'busy', name: 'busy', wait: WAIT_MS });
    await a.do('release', 'busy');
    await a.do('line', { key: 'line', name: 'line', callers: 6 });
    for (let i = 0; i < 4; i += 1) await handOver();
    await a.do('acquire', { key: 'expires', name: 'expires', ttl: 300, renew: false });
    await delay(400);
    await a.do('release', 'expires');
    await crash();
    await poll();
    // lost: the key is deleted, and a command of the operator takes the lock
    await a.do('acquire', { key: 'gone', name: 'gone', ttl: 1_500 });
    await redis.client.del(`${redis.prefix}gone`);
    await eventually(async () => expect((await a.report()).text).toContain('lock_reason="deleted"'));
    await a.do('acquire', { key: 'renewed', name: 'renewed', ttl: 1_500 });
    await eventually(async () => {
      const [lag] = (await a.report()).prometheus.get(DIALECTS.prometheus.lag) ?? [];
      expect(lag?.count).toBeGreaterThanOrEqual(3);
    });
    await a.do('release', 'renewed');
    await a.do('decorated', 7);
    await a.do('acquire', { key: ['secret 1', 'secret 2', 'secret 3'], name: 'several' });
    await a.do('release', 'secret 1,secret 2,secret 3');
    await a.do('spanned', { key: 'spanned', name: 'spanned' });
  }

  /** B waits for A and gets the lock by its message. */
  async function handOver(): Promise<void> {
    await a.do('acquire', { key: 'handed', name: 'handed' });
    const got = b.do('acquire', { key: 'handed', name: 'handed', wait: '10s' });
    await delay(120);
    await a.do('release', 'handed');
    await got;
    await b.do('release', 'handed');
  }

  /** The holder dies, so the lease ends without a release. */
  async function crash(): Promise<void> {
    const c = await Application.start(redis.url, redis.prefix);
    await c.do('acquire', { key: 'crashed', name: 'crashed', ttl: 1_500 });
    await c.kill();
    await b.do('acquire', { key: 'crashed', name: 'crashed', wait: '10s' });
    await b.do('release', 'crashed');
  }

  /** A client that is not of this package holds the lock and sends no message. */
  async function poll(): Promise<void> {
    await redis.client.set(`${redis.prefix}polled`, 'foreign');
    const got = b.do('acquire', { key: 'polled', name: 'polled', wait: '10s' });
    await delay(200);
    await redis.client.del(`${redis.prefix}polled`);
    await got;
    await b.do('release', 'polled');
  }

  const metrics = (of: 'a' | 'b', library: Library): Metrics => reports[of][library];

  /** The sum over both processes of the points with these labels. */
  function total(library: Library, metric: Exclude<keyof (typeof DIALECTS)['otel'], 'label'>, labels: object): number {
    const dialect = DIALECTS[library];
    const wanted = Object.entries(labels).map(([name, value]) => [dialect.label(name), value] as const);
    const points = (['a', 'b'] as const).flatMap((of) => metrics(of, library).get(dialect[metric]) ?? []);
    const fitting = points.filter((point) => wanted.every(([name, value]) => point.labels[name] === value));
    return fitting.reduce((sum, { count, value }) => sum + (count ?? value), 0);
  }

  describe.each(LIBRARIES)('in %s', (library) => {
    it.each([
      ['warm', 'acquired', 20],
      ['free', 'acquired', 20],
      ['busy', 'acquired', 1],
      ['busy', 'contended', 5],
      ['busy', 'timeout', 3],
      ['line', 'acquired', 6],
      ['handed', 'acquired', 8],
      ['expires', 'acquired', 1],
      ['crashed', 'acquired', 1],
      ['polled', 'acquired', 1],
      ['gone', 'acquired', 1],
      ['renewed', 'acquired', 1],
      ['Reports.write', 'acquired', 7],
      ['several', 'acquired', 1],
    ])('counts the calls of "%s" that were %s: %i', (name, outcome, count) => {
      expect(total(library, 'wait', { 'lock.name': name, 'lock.outcome': outcome })).toBe(count);
    });

    it('counts no other calls', () => {
      expect(total(library, 'wait', {})).toBe(20 + 20 + 1 + 5 + 3 + 6 + 8 + 1 + 1 + 1 + 1 + 1 + 7 + 1 + 1);
    });

    it.each([
      ['local', 5],
      ['message', 4],
      ['expiry', 1],
      ['heartbeat', 1],
    ])('counts the hand-overs by %s: %i', (path, count) => {
      expect(total(library, 'handover', { 'lock.path': path })).toBe(count);
    });

    it.each([
      ['deleted', 'gone'],
      ['expired', 'expires'],
    ])('counts the lease that was lost because it was %s', (reason, name) => {
      expect(total(library, 'lost', { 'lock.reason': reason, 'lock.name': name })).toBe(1);
      expect(total(library, 'lost', { 'lock.reason': reason })).toBe(1);
      expect(total(library, 'hold', { 'lock.name': name, 'lock.outcome': 'lost' })).toBe(1);
    });

    it('counts one hold for each key of a multi-key call', () => {
      expect(total(library, 'hold', { 'lock.name': 'several', 'lock.outcome': 'released' })).toBe(3);
    });

    it('counts nothing as waiting or held when all calls have ended', () => {
      expect([total(library, 'waiting', {}), total(library, 'held', {})]).toEqual([0, 0]);
    });

    it('records the lag of each renewal, and that messages arrive', () => {
      expect(total(library, 'lag', {})).toBeGreaterThanOrEqual(3);
      const [lag] = metrics('a', library).get(DIALECTS[library].lag)!;
      const { lagsMs } = reports.a.published;
      expect(lag.count).toBe(lagsMs.length);
      expect(lag.value * 1_000).toBeCloseTo(sum(lagsMs));
      expect(total(library, 'degraded', { 'lock.connection': 'default' })).toBe(0);
      expect(metrics('a', library).get(DIALECTS[library].degraded)).toHaveLength(1);
    });

    it.each(['a', 'b'] as const)(
      'contains the waits that the channel of process %s has, within those of its calls',
      (of) => {
        const dialect = DIALECTS[library];
        const points = metrics(of, library).get(dialect.wait) ?? [];
        const published = grouped(reports[of].published.waits);
        let compared = 0;
        for (const [key, calls] of grouped(reports[of].measured)) {
          const [name, code] = key.split('\n');
          const outcome = OUTCOMES[code];
          const waits = published.get(`${name}\n${outcome}`)!;
          expect(waits).toHaveLength(calls.length);
          for (const [i, waitedMs] of waits.entries()) expect(waitedMs).toBeLessThanOrEqual(calls[i]);
          if (outcome === 'timeout') expect(waits[0]).toBeGreaterThanOrEqual(WAIT_MS);
          const fits = ({ labels }: Point): boolean =>
            labels[dialect.label('lock.name')] === name && labels[dialect.label('lock.outcome')] === outcome;
          const point = points.find((each) => fits(each) && each.count !== 0)!;
          expect(point.count).toBe(waits.length);
          expect(point.value * 1_000).toBeCloseTo(sum(waits));
          for (const [bound, count] of point.buckets!) {
            expect(count).toBe(waits.filter((waitedMs) => waitedMs / 1_000 <= bound).length);
            compared += 1;
          }
        }
        expect(compared).toBeGreaterThan(30);
      },
    );

    it('never shows a key', () => {
      const labels = (['a', 'b'] as const).flatMap((of) =>
        [...metrics(of, library).values()].flat().flatMap((point) => Object.values(point.labels)),
      );
      expect(labels.length).toBeGreaterThan(50);
      expect(labels.filter((label) => /secret|report:|r\d/.test(label))).toEqual([]);
    });
  });

  it('has the same names, units, labels and buckets in both libraries', () => {
    const { units } = reports.a;
    expect([units.size, reports.a.prometheus.size]).toEqual([10, 10]);
    for (const [name, unit] of units) {
      const stem = name.replaceAll('.', '_') + (unit === 's' ? '_seconds' : '');
      const same = reports.a.prometheus.has(stem) ? stem : `${stem}_total`;
      expect([name, ...shapeOf('prometheus', same)]).toEqual([name, ...shapeOf('otel', name)]);
    }
  });

  /** The labels and the bounds of the buckets of a metric. */
  function shapeOf(library: Library, name: string): [labels: string[], bounds: number[]] {
    const points = (['a', 'b'] as const).flatMap((of) => metrics(of, library).get(name) ?? []);
    const labels = points.flatMap((point) => Object.keys(point.labels).map((label) => label.replaceAll('.', '_')));
    const bounds = points.flatMap(({ buckets = new Map<number, number>() }) => Array.from(buckets.keys()));
    return [[...new Set(labels)].sort(), [...new Set(bounds)].filter(Number.isFinite)];
  }

  it('shows decorated locks with zeros in the process that never used them', () => {
    expect(reports.b.text).toContain('distribute_lock_held{lock_name="Reports.write",lock_kind="exclusive"} 0');
    expect(reports.b.text).toContain('distribute_lock_handover_total{lock_path="local"} 0');
    expect(reports.b.text).toMatch(/wait_duration_seconds_count\{lock_name="Reports\.write",[^}]*\} 0/);
  });

  it('has spans that end with the wait and the hold, carry the fencing token, and are children of the request', () => {
    const spans = reports.a.spans.filter(({ name }) => /spanned|request/.test(name));
    const named = (name: string) => spans.find((span) => span.name === name)!;
    const request = named('request');
    expect(named('acquire spanned')).toMatchObject({ parent: request.id, attributes: { 'lock.outcome': 'acquired' } });
    expect(named('hold spanned')).toMatchObject({ parent: request.id, attributes: { 'lock.outcome': 'released' } });
    const tokens = spans.flatMap(({ attributes }) => attributes['lock.fencing_token'] ?? []);
    expect(tokens).toEqual([expect.any(Number), tokens[0]]);
    expect(named('hold spanned').ms).toBeGreaterThanOrEqual(4);
    const waits = reports.b.spans.filter(({ name }) => name === 'acquire handed');
    expect(waits.map(({ ms }) => ms > 60)).toEqual([true, true, true, true]);
  });

  it('ends 1,000 names in 200 and "other"', async () => {
    await a.do('names', 1_000);
    const { prometheus, otel } = await a.report();
    for (const [library, found] of [
      ['prometheus', prometheus],
      ['otel', otel],
    ] as const) {
      const { wait, label } = DIALECTS[library];
      const names = new Set(found.get(wait)!.map(({ labels }) => labels[label('lock.name')]));
      names.delete('service');
      expect([names.size, names.has('other')]).toEqual([201, true]);
    }
  }, 60_000);
});

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** Ascending waits by name and outcome. */
function grouped(measured: readonly Measured[]): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const { name, outcome, waitedMs } of measured) {
    const key = `${name}\n${outcome}`;
    groups.set(
      key,
      [...(groups.get(key) ?? []), waitedMs].toSorted((one, other) => one - other),
    );
  }
  return groups;
}
