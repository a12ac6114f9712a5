import { startRedisServer } from '../support/redis-server.js';
import { jain, percentile, readHolds } from './support/holds.js';
import type { Bound, Section } from './support/report.js';
import { Crowd } from './support/scale-process.js';
import { loadBetween, read } from './support/server-load.js';
import { type SimulatedRun, simulateHotKey } from './support/simulated-hot-key.js';

/** How many applications contend for the key. */
export interface HotKeySize {
  readonly rows: readonly { readonly processes: number; readonly applications: number }[];
  readonly simulated: readonly number[];
  readonly forMs: number;
}

interface HotKeyRun extends SimulatedRun {
  readonly name: string;
}

const WARM_UP = { cycles: 50 };
const LOOP = { key: 0, options: { ttl: '30s', wait: '1h' } };

/** One caller in each application acquires the key repeatedly, so that almost every hold is a hand-over between applications. */
export async function hotKey({ rows, simulated, forMs }: HotKeySize): Promise<Section> {
  const runs: HotKeyRun[] = [];
  for (const row of rows) runs.push(await measured(row, forMs));
  for (const count of simulated) {
    const run = await simulateHotKey(count);
    runs.push({ name: `${count} simulated processes`, ...run });
  }
  return {
    title: 'One hot key',
    note: 'One caller per application asks again at once. The holds increment a counter, which takes two round trips; simulated holds take 0.3 ms.',
    columns: [
      'applications',
      'holds/s',
      'script calls per hold',
      'wait p50 ms',
      'wait p99 ms',
      'fairness (Jain)',
      'server CPU %',
    ],
    rows: runs.map(({ name, holdsPerS, callsPerHold, p50, p99, fairness, serverCpu }) => [
      name,
      holdsPerS,
      callsPerHold,
      p50,
      p99,
      fairness,
      serverCpu ?? '-',
    ]),
    bounds: runs.flatMap(boundsOf),
  };
}

const boundsOf = ({ name, overlaps, falling, lost }: HotKeyRun): Bound[] => [
  { figure: `${name}: overlaps`, value: overlaps, exactly: 0 },
  { figure: `${name}: fencing tokens that do not rise`, value: falling, exactly: 0 },
  { figure: `${name}: lost waiters and updates`, value: lost, exactly: 0 },
];

async function measured({ processes, applications }: HotKeySize['rows'][number], forMs: number): Promise<HotKeyRun> {
  const server = await startRedisServer({ config: { maxclients: '20000' } });
  const crowd = await Crowd.start(processes, { connection: server.url, applications, counterUrl: server.url });
  await crowd.each('warmUp', () => WARM_UP);
  const before = await read(server);
  const served = await crowd.each('loop', () => ({ ...LOOP, forMs }));
  const after = await read(server);
  const counted = Number(await server.run((redis) => redis.get('scale:counter')));
  const holds = readHolds(crowd.holdsFiles);
  await crowd.end();
  await server.stop();
  const { commandsPerS, cpu } = loadBetween(before, after);
  const refused = served.flatMap(({ refusals }) => Object.values(refusals)).reduce((sum, count) => sum + count, 0);
  const tookS = (after.at - before.at) / 1_000;
  const shared = applications === 1 ? '' : ` of ${applications} applications each`;
  return {
    name: `${processes} processes${shared}`,
    holdsPerS: (holds.count / holds.tookMs) * 1_000,
    callsPerHold: (commandsPerS * tookS) / holds.count,
    p50: percentile(holds.waitsMs, 0.5),
    p99: percentile(holds.waitsMs, 0.99),
    fairness: jain(holds.perProcess),
    serverCpu: cpu,
    overlaps: holds.overlaps,
    falling: holds.falling,
    lost: refused + Math.abs(holds.count - counted),
  };
}
