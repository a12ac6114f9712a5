import { eventually } from '../support/eventually.js';
import { record } from './support/bound.js';
import { serverTimeCases } from './support/server-time-cases.js';
import { ServerTimeWorld } from './support/server-time.js';
import { useLockWorld } from './support/use-lock-world.js';

/** `npm run bench:server-time` sets it to the numbers of entries in its table. */
const COUNTS = (process.env['SERVER_TIME_ENTRIES'] ?? '').split(',').filter(Boolean).map(Number);
/** The test asserts ten times the bounds of P23, because the machine may be busy. */
const SAMPLE = {
  live: { count: 1_000, boundMs: 10 * 2 },
  dead: { count: 40_000, boundMs: 10 * 10 },
} as const;

describe('P23: the server time of the longest call', () => {
  const locks = useLockWorld();
  let world: ServerTimeWorld;
  const rows: string[] = [];
  beforeAll(async () => {
    locks.server.prefer();
    world = await ServerTimeWorld.open(locks.server.url, locks.client);
  });
  beforeEach(() => world.empty());
  afterAll(async () => {
    await world.empty();
    process.stdout.write(rows.join(''));
  });

  it.each(serverTimeCases)(
    '$title: $entries',
    async ({ title, entries, run, ...own }) => {
      for (const count of COUNTS) {
        await world.empty();
        const { longestMs, sumMs, calls } = await run(world, count);
        rows.push(`| ${title} | ${entries} | ${count} | ${longestMs.toFixed(2)} | ${sumMs.toFixed(1)} | ${calls} |\n`);
      }
      if (COUNTS.length > 0) return;
      const { count, boundMs } = { ...SAMPLE[entries], ...own };
      // A busy machine may interrupt the server during a call, but not in every round.
      let longestMs = Infinity;
      for (let round = 0; round < 3 && longestMs >= boundMs; round += 1) {
        await world.empty();
        ({ longestMs } = await run(world, count));
      }
      record({ measuredMs: longestMs, boundMs });
      expect(longestMs).toBeLessThan(boundMs);
    },
    COUNTS.length > 0 ? 3_600_000 : 60_000,
  );

  it('lets readers in by turns, all of them before a writer that came later', async () => {
    const count = 250;
    const [writer, last] = [world.token(world.live, 'write'), world.token(world.live, 'write')];
    await world.acquire(writer, { kind: 'write' });
    const readers = Array.from({ length: count }, () => world.token(world.live, 'read'));
    await world.each(readers, (token) => world.acquire(token, { kind: 'read' }));
    await world.acquire(last, { kind: 'write' });
    world.notified.length = 0;
    await world.release(writer, { kind: 'write' });
    for (let i = 0; i < count; i += 1) {
      const notified = await eventually(
        () => world.notified[i] ?? Promise.reject(new Error(`Reader ${i} received no message.`)),
      );
      expect(await world.acquire(notified, { kind: 'read' })).toMatchObject({ outcome: 'granted' });
    }
    expect(new Set(world.notified)).toEqual(new Set(readers));
    const late = await world.acquire(world.token(world.live, 'read'), { kind: 'read' });
    expect(late.outcome).toBe('queued');
    await world.each(readers, (token) => world.release(token, { kind: 'read' }));
    await eventually(() => expect(world.notified.at(-1)).toBe(last));
  });
});
