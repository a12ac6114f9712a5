import { setTimeout as sleep } from 'node:timers/promises';

import { startRedisServer } from '../support/redis-server.js';
import { type Holds, readHolds } from './support/holds.js';
import type { Section } from './support/report.js';
import { Crowd } from './support/scale-process.js';
import { loadBetween, read, type Reading } from './support/server-load.js';

/** How many keys and waiters the part has. */
export interface ManyKeysSize {
  readonly processes: number;
  readonly keys: number;
  readonly each: number;
  /** Whether the waiters of a key are in the process of its holder, or in another one. */
  readonly where: 'same' | 'another';
  readonly restMs: number;
}

interface ManyKeysRun {
  readonly empty: Reading;
  readonly taken: Reading;
  readonly calm: Reading;
  readonly rested: Reading;
  readonly heap: number;
  readonly servedInS: number;
  readonly refused: number;
  readonly holds: Holds;
}

const WARM_UP = { cycles: 200 };
/** Leases are renewed every 40 s. A command without an answer in time, on a busy machine, is repeated while its caller waits. */
const PATIENT = { ttl: '2m', wait: '1h' };
const SETTLE_MS = 3_000;

/** Every process holds its share of the keys; callers wait for each key, each once. */
export async function manyKeys(size: ManyKeysSize): Promise<Section> {
  const { processes, keys, each, where } = size;
  const share = Math.ceil(keys / processes);
  const run = await measure(size, share);
  const total = share * processes;
  const { commandsPerS, cpu } = loadBetween(run.calm, run.rested);
  const memory = ({ usedMemory }: Reading) => (usedMemory - run.empty.usedMemory) / total;
  return {
    title: `${total} keys with ${each} waiters each, in ${where === 'same' ? 'the process of the holder' : 'another process'}`,
    note: `${processes} processes, ttl 2 m. A script call carries up to 64 commands.`,
    columns: ['figure', 'measured'],
    rows: [
      ['bytes in Redis per held key', memory(run.taken)],
      ['bytes in Redis per held key with waiters', memory(run.rested)],
      ['bytes of heap per waiter, in the worst process', run.heap],
      ['script calls/s per process while all wait', commandsPerS / processes],
      ['CPU of the server while all wait, % of a core', cpu],
      ['seconds until all were served', run.servedInS],
      ['holds/s', run.holds.count / run.servedInS],
    ],
    bounds: [
      { figure: 'waiters served', value: run.holds.count, exactly: total * each },
      { figure: 'kinds of refusals', value: run.refused, exactly: 0 },
      { figure: 'overlaps', value: run.holds.overlaps, exactly: 0 },
      { figure: 'fencing tokens that do not rise', value: run.holds.falling, exactly: 0 },
    ],
  };
}

async function measure({ processes, each, where, restMs }: ManyKeysSize, share: number): Promise<ManyKeysRun> {
  const server = await startRedisServer();
  const crowd = await Crowd.start(processes, { connection: server.url });
  await crowd.each('warmUp', () => WARM_UP);
  const empty = await read(server);
  const rangeOf = (index: number) => ({ from: index * share, to: (index + 1) * share });
  await crowd.each('take', (index) => ({ ...rangeOf(index), options: PATIENT }));
  const taken = await read(server);
  const heaps = await crowd.each('wait', (index) => {
    const range = rangeOf(where === 'same' ? index : (index + 1) % processes);
    return { ...range, each, options: PATIENT, settleMs: SETTLE_MS };
  });
  const calm = await read(server);
  await sleep(restMs);
  const rested = await read(server);
  await crowd.each('release', () => undefined);
  const served = await crowd.each('served', () => undefined);
  const servedInS = (performance.now() - rested.at) / 1_000;
  await crowd.end();
  await server.stop();
  return {
    ...{ empty, taken, calm, rested, servedInS },
    heap: Math.max(...heaps.map(({ heapPerWaiter }) => heapPerWaiter)),
    refused: served.flatMap(({ refusals }) => Object.keys(refusals)).length,
    holds: readHolds(crowd.holdsFiles),
  };
}
