import { startRedisServer, type RedisServer } from '../support/redis-server.js';
import { type Holds, readHolds } from './support/holds.js';
import type { Section } from './support/report.js';
import { Crowd } from './support/scale-process.js';
import { countCommands, loadBetween, read } from './support/server-load.js';

/** How many waiters the part has. */
export interface OneKeySize {
  readonly processes: number;
  readonly waiters: number;
  readonly restMs: number;
}

/** The load while all callers wait. */
interface Rest {
  readonly commandsPerS: number;
  readonly names: string;
  readonly clientCpu: number;
  readonly serverCpu: number;
}

const WARM_UP = { cycles: 200 };
const PATIENT = { ttl: '30s', wait: '1h' };
/** Every process has sent a heartbeat by then. */
const SETTLE_MS = 6_000;
const KEY = { from: 0, to: 1 };

/** Callers of many processes wait for one key behind a holder, each once. */
export async function oneKey({ processes, waiters, restMs }: OneKeySize): Promise<Section> {
  const server = await startRedisServer();
  const each = Math.ceil(waiters / processes);
  const crowd = await Crowd.start(processes, { connection: server.url, counterUrl: server.url });
  const holder = await Crowd.start(1, { connection: server.url });
  await crowd.each('warmUp', () => WARM_UP);
  await holder.each('take', () => ({ ...KEY, options: PATIENT }));
  const heaps = await crowd.each('wait', () => ({ ...KEY, each, options: PATIENT, settleMs: SETTLE_MS }));
  const rest = await resting(server, crowd, restMs);
  await holder.each('release', () => undefined);
  const served = await crowd.each('served', () => undefined);
  const counted = Number(await server.run((redis) => redis.get('scale:counter')));
  await Promise.all([crowd.end(), holder.end()]);
  await server.stop();
  const refused = served.flatMap(({ refusals }) => Object.keys(refusals)).length;
  const heap = Math.max(...heaps.map(({ heapPerWaiter }) => heapPerWaiter));
  return section(processes, each * processes, { rest, heap, counted, refused, holds: readHolds(crowd.holdsFiles) });
}

interface OneKeyRun {
  readonly rest: Rest;
  readonly heap: number;
  readonly counted: number;
  readonly refused: number;
  readonly holds: Holds;
}

function section(processes: number, waiters: number, { rest, heap, counted, refused, holds }: OneKeyRun): Section {
  const commands = rest.commandsPerS / processes;
  return {
    title: `One key, ${waiters} waiters in ${processes} processes`,
    note: 'Each holder increments a counter by GET and SET, so a second holder would lose an update.',
    columns: ['figure', 'measured'],
    rows: [
      ['commands while all wait, by name', rest.names],
      ['CPU of a waiting process, % of a core', rest.clientCpu],
      ['CPU of the server while all wait, % of a core', rest.serverCpu],
      ['seconds from the first hold to the last', holds.tookMs / 1_000],
      ['holds/s', (holds.count / holds.tookMs) * 1_000],
      ['hand-overs to another process', holds.handOvers],
      ['the same, per second', (holds.handOvers / holds.tookMs) * 1_000],
    ],
    bounds: [
      { figure: 'bytes of heap per waiter, in the worst process', value: heap, atMost: 1_024 },
      { figure: 'commands/s per process while all wait', value: commands, atMost: 1 },
      { figure: 'waiters served', value: holds.count, exactly: waiters },
      { figure: 'kinds of refusals', value: refused, exactly: 0 },
      { figure: 'increments of the counter', value: counted, exactly: waiters },
      { figure: 'overlaps', value: holds.overlaps, exactly: 0 },
      { figure: 'fencing tokens that do not rise', value: holds.falling, exactly: 0 },
    ],
  };
}

async function resting(server: RedisServer, crowd: Crowd, forMs: number): Promise<Rest> {
  const before = await read(server);
  const clientCpu = await crowd.each('cpu', () => ({ forMs }));
  const { cpu } = loadBetween(before, await read(server));
  // MONITOR counts exactly, but costs the server time.
  const counts = [...(await countCommands(server, forMs))];
  return {
    commandsPerS: counts.reduce((sum, [, count]) => sum + count, 0) / (forMs / 1_000),
    names: counts.map(([name, count]) => `${name} ${count}`).join(', '),
    clientCpu: clientCpu.reduce((sum, one) => sum + one, 0) / clientCpu.length,
    serverCpu: cpu,
  };
}
