import type { Random } from '../simulation/random.js';
import { BLOCKS, TTLS_MS, type Command } from './command-sequence.js';

/** The permits and the weight of a token. Most callers know the same number of permits. */
const PERMITS = ['P3:1', 'P3:1', 'P3:1', 'P3:1', 'P3:2', 'P3:3', 'P2:1', 'P5:1', 'P5:2'];
const TOKENS_A_PROCESS = 3;
const FOREIGN = [
  'x',
  'semaphore:3',
  'semaphore:2',
  'semaphore:',
  'semaphore:3:1',
  `${'p'.repeat(22)}:1`,
  `${'p'.repeat(22)}:1P3:1`,
];

/** Commands that these processes may send to a semaphore, and other events of its key. */
export function semaphoreCommandOf(random: Random, key: string, processes: readonly string[]): Command {
  const process = random.pick(processes);
  const token = (): string => `${process}:${random.int(1, TOKENS_A_PROCESS)}${random.pick(PERMITS)}`;
  const ttlMs = random.pick(TTLS_MS);
  const block = random.pick(BLOCKS);
  const ownerToken = token();
  const name = { key, ownerToken, kind: 'semaphore' } as const;
  const dice = random.next();
  if (dice < 0.5) {
    return {
      type: 'acquire',
      request: { ...name, ttlMs, wait: random.chance(0.75), block },
    };
  }
  if (dice < 0.6) return { type: 'release', request: name };
  if (dice < 0.76) return { type: 'release', request: { ...name, next: { ownerToken: token(), ttlMs, block } } };
  if (dice < 0.84) return { type: 'renew', request: { ...name, ttlMs, exact: random.chance(0.3) } };
  if (dice < 0.88) return { type: 'expire', ownerToken };
  if (dice < 0.92) return { type: 'silence', ownerToken };
  if (dice < 0.95) {
    const exclusive = `${process}:${random.int(1, TOKENS_A_PROCESS)}`;
    const wait = random.chance(0.5);
    return { type: 'acquire', request: { key, ownerToken: exclusive, kind: 'exclusive', ttlMs, wait, block } };
  }
  if (dice < 0.98) return { type: 'overwrite', owner: undefined };
  return { type: 'overwrite', owner: random.pick(FOREIGN), ...(random.chance(0.5) ? { ttlMs } : {}) };
}
