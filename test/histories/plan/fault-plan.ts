import type { Random } from '../../simulation/random.js';
import type { Mood } from './world-plan.js';

const OF_PROCESS = [
  'kill',
  'shut-down',
  'stop',
  'cut',
  'half-open',
  'half-open-to-server',
  'half-open-to-client',
  'delay',
  'lose-reply',
  'refuse',
] as const;
export const OF_SERVER = ['stop-server', 'restart-server', 'flush-scripts'] as const;
export const OF_DATA = ['restart-empty', 'flush-all', 'delete-key', 'delete-helper', 'force-release'] as const;

/** Replies of a server that refuses commands for some time. */
export const OF_REPLIES = ['passing-errors', 'refused-publish'] as const;

export type FaultName =
  (typeof OF_PROCESS | typeof OF_SERVER | typeof OF_DATA)[number] | (typeof OF_REPLIES)[number] | 'planned-failover';

/** One fault: its kind, time, process and duration. */
export interface FaultPlan {
  readonly name: FaultName;
  /** After the start of the previous fault. */
  readonly afterMs: number;
  readonly forMs: number;
  /** The number of the process; ignored by faults of the server. */
  readonly process: number;
  /** Selects the key, for faults that delete one. */
  readonly draw: number;
}

/** Enough for any length: the run ends with its operations. */
const COUNT = 400;

/** Concurrent sequences of faults: one per process, and those of the server with the first one. */
export function planFaults(random: Random, mood: Mood, processes: number): FaultPlan[][] {
  return Array.from({ length: processes }, (_, process) =>
    Array.from({ length: COUNT }, () => planFault(random, process === 0 ? mood : 'calm', process)),
  );
}

function planFault(random: Random, mood: Mood, process: number): FaultPlan {
  return {
    name: drawName(random, mood),
    afterMs: random.int(50, 700),
    forMs: random.chance(0.25) ? random.int(800, 3_500) : random.int(50, 800),
    process,
    draw: random.next(),
  };
}

function drawName(random: Random, mood: Mood): FaultName {
  if (mood === 'lossy' && random.chance(0.3)) return random.pick(OF_DATA);
  if (mood !== 'calm' && random.chance(0.2)) return random.pick(OF_SERVER);
  // each of these faults costs the start of a process
  const name = random.pick(OF_PROCESS);
  return (name === 'kill' || name === 'shut-down') && random.chance(0.5) ? 'cut' : name;
}
