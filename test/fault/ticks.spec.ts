import { eventually } from '../support/eventually.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { startProcess } from '../support/second-process.js';
import { testPrefix } from '../support/use-redis.js';
import { shiftedBy } from './support/shifted-clock.js';

describe('once: tick', () => {
  let redis: RedisServer;
  let prefix: string;

  beforeAll(async () => void (redis = await startRedisServer()));
  beforeEach(() => void (prefix = testPrefix()));

  /** A host that reports the ticks that it runs. */
  const startHost = (script: string, shift: number, env = {}) =>
    startProcess<{ ready: undefined; ran: number }, { stop: undefined }>(new URL(script, import.meta.url), {
      REDIS_URL: redis.url,
      PREFIX: prefix,
      ...env,
      ...shiftedBy(shift),
    });

  it.each([
    ['second', './support/ticks.child.ts', 1_000, Number(process.env['ONCE_TICKS'] ?? 5)],
    ['100 ms by onceAt', './support/instants.child.ts', 100, Number(process.env['ONCE_FAST_TICKS'] ?? 50)],
  ])(
    'runs each %s once on three hosts whose clocks differ, with blocked event loops',
    async (_, script, every, count) => {
      const seen: number[] = [];
      const shifts = [0, 5_300, -3_200];
      const hosts = shifts.map((shift) => startHost(script, shift));
      for (const host of hosts) host.on('ran', (tick) => void seen.push(tick));
      await Promise.all(hosts.map((host) => host.once('ready')));
      const first = Math.ceil((Date.now() + shifts[1]) / 1_000 + 1) * 1_000;
      const ticks = Array.from({ length: count }, (__, index) => first + index * every);
      // The slowest clock is 8.5 s behind the fastest one. Then it has had all of these ticks, too.
      const end = ticks.at(-1)! + 10_000;
      await eventually(() => expect(Math.max(...seen)).toBeGreaterThanOrEqual(end), ticks.length * 2 * every + 60_000);
      for (const host of hosts) host.send('stop', undefined);
      await Promise.all(hosts.map((host) => host.exited));
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((tick) => ticks.includes(tick)).toSorted((one, other) => one - other)).toEqual(ticks);
    },
    600_000,
  );

  it('loses the tick in which a host is killed, and runs the next ones on the host after its restart', async () => {
    const first = startHost('./support/ticks.child.ts', 0, { HANGS: 'yes', TTL: '1s' });
    const lost = await first.once('ran');
    await first.kill('SIGKILL');
    const seen: number[] = [];
    // To a clock that is slow, the tick of the crash is still to come.
    const hosts = [0, -3_200].map((shift) => startHost('./support/ticks.child.ts', shift, { TTL: '1s' }));
    for (const host of hosts) host.on('ran', (tick) => void seen.push(tick));
    await eventually(() => expect(Math.max(...seen)).toBeGreaterThanOrEqual(lost + 6_000), 60_000);
    for (const host of hosts) host.send('stop', undefined);
    await Promise.all(hosts.map((host) => host.exited));
    expect(seen).not.toContain(lost);
    expect(new Set(seen).size).toBe(seen.length);
  }, 90_000);
});
