import { readFileSync } from 'node:fs';

const FIELDS = 5;
const NS_PER_MS = 1e6;

/** One hold as its process recorded it, with times of the monotonic clock of the machine. */
interface Hold {
  readonly process: number;
  readonly key: number;
  readonly calledAt: number;
  readonly from: number;
  readonly to: number;
  readonly fencingToken: number;
}

/** What the holds of all processes show. */
export interface Holds {
  readonly count: number;
  /** Holds of one key that began before the hold in front had ended. */
  readonly overlaps: number;
  /** Holds of one key whose fencing token was not larger than that of the hold in front. */
  readonly falling: number;
  /** Number of times that a key went to another process. */
  readonly handOvers: number;
  /** From the first grant to the end of the last work. */
  readonly tookMs: number;
  readonly perProcess: readonly number[];
  /** How long callers waited, in ascending order. */
  readonly waitsMs: Float64Array;
}

/** Reads and checks the holds of these processes. */
export function readHolds(files: readonly string[]): Holds {
  const holds = files.flatMap((file, process) => holdsOf(file, process));
  holds.sort((one, other) => one.key - other.key || one.from - other.from);
  let [overlaps, falling, handOvers] = [0, 0, 0];
  for (let i = 1; i < holds.length; i += 1) {
    const [before, hold] = [holds[i - 1], holds[i]];
    if (hold.key !== before.key) continue;
    if (hold.from < before.to) overlaps += 1;
    if (hold.fencingToken <= before.fencingToken) falling += 1;
    if (hold.process !== before.process) handOvers += 1;
  }
  const first = holds.reduce((least, { from }) => Math.min(least, from), Infinity);
  const last = holds.reduce((most, { to }) => Math.max(most, to), -Infinity);
  const perProcess = files.map(() => 0);
  for (const { process } of holds) perProcess[process] += 1;
  const waitsMs = Float64Array.from(holds, ({ calledAt, from }) => (from - calledAt) / NS_PER_MS).sort();
  return { count: holds.length, overlaps, falling, handOvers, tookMs: (last - first) / NS_PER_MS, perProcess, waitsMs };
}

function holdsOf(file: string, process: number): Hold[] {
  const numbers = new Float64Array(new Uint8Array(readFileSync(file)).buffer);
  return Array.from({ length: numbers.length / FIELDS }, (_, i) => {
    const [key, calledAt, from, to, fencingToken] = numbers.subarray(i * FIELDS, (i + 1) * FIELDS);
    return { process, key, calledAt, from, to, fencingToken };
  });
}

/** The fairness index of Jain: 1 when all have the same share, 1/n when one has everything. */
export function jain(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return (sum * sum) / (shares.length * squares);
}

/** The value below which the share of the sorted values is. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
