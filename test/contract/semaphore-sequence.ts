import type { Random } from '../simulation/random.js';
import type { Command } from './command-sequence.js';

/** Or what a test does by hand, because the clock of a server cannot be turned. */
export type SemaphoreCommand =
  | Command
  /** The lease of this token, or its place in the queue, is over. */
  | { readonly type: 'end lease' | 'end place'; readonly ownerToken: string };

const TTLS_MS = [20_000, 40_000, 60_000];
const BLOCKS = [1, 1, 3, 64];
/** Mostly the same, or nobody would ever share. */
const PERMITS = [3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 4];
const WEIGHTS = [1, 1, 1, 2, 3];
const TOKENS_A_PROCESS = 3;
const FOREIGN = ['x', 'semaphore:3', 'semaphore:2', 'semaphore:', 'semaphore:3:1', `${'p'.repeat(22)}:1`];

/** What two or three processes might send to a semaphore, and their networks repeat, in any order. */
export function semaphoreSequenceOf(
  random: Random,
  key: string,
  processes: readonly string[],
): readonly (readonly SemaphoreCommand[])[] {
  const few = processes.toSorted(() => random.next() - 0.5).slice(0, random.int(2, 3));
  return Array.from({ length: random.int(4, 12) }, () => {
    const together = Array.from({ length: random.chance(0.75) ? 1 : random.int(2, 3) }, () =>
      commandOf(random, key, few),
    );
    // What comes over another connection or goes through another script leaves alone, or the order would not be known.
    const alone = together.find((command) => !('request' in command) || command.request.kind !== 'semaphore');
    return alone === undefined ? together : [alone];
  });
}

function commandOf(random: Random, key: string, processes: readonly string[]): SemaphoreCommand {
  const process = random.pick(processes);
  const token = (): string => `${process}:${random.int(1, TOKENS_A_PROCESS)}:${random.pick(WEIGHTS)}`;
  const kind = 'semaphore';
  const ttlMs = random.pick(TTLS_MS);
  const block = random.pick(BLOCKS);
  const ownerToken = token();
  const dice = random.next();
  if (dice < 0.5) {
    const permits = random.pick(PERMITS);
    return { type: 'acquire', request: { kind, key, ownerToken, ttlMs, wait: random.chance(0.75), block, permits } };
  }
  if (dice < 0.6) return { type: 'release', request: { kind, key, ownerToken } };
  if (dice < 0.76) {
    return { type: 'release', request: { kind, key, ownerToken, next: { ownerToken: token(), ttlMs, block } } };
  }
  if (dice < 0.84) return { type: 'renew', request: { kind, key, ownerToken, ttlMs } };
  if (dice < 0.88) return { type: 'end lease', ownerToken };
  if (dice < 0.92) return { type: 'end place', ownerToken };
  if (dice < 0.95) {
    const exclusive = `${process}:${random.int(1, TOKENS_A_PROCESS)}`;
    return { type: 'acquire', request: { key, ownerToken: exclusive, ttlMs, wait: random.chance(0.5), block } };
  }
  if (dice < 0.98) return { type: 'overwrite', owner: undefined };
  return { type: 'overwrite', owner: random.pick(FOREIGN), ...(random.chance(0.5) ? { ttlMs } : {}) };
}
