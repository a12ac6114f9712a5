import type { LockKind } from '../../libs/distribute-lock/src/store/lock-store.js';
import type { Random } from '../simulation/random.js';
import { BLOCKS, FOREIGN, TTLS_MS, type Command } from './command-sequence.js';

/** The 27th token of a process ends like the token of a reader. */
const SEQUENCES = ['1', '2', 'r'];

/** Commands that readers, writers and exclusive callers of these processes may send. */
export function readWriteCommandOf(random: Random, key: string, processes: readonly string[]): Command {
  const process = random.pick(processes);
  const reader = random.chance(0.6);
  const tokenOf = (reads: boolean): string => `${process}:${random.pick(SEQUENCES)}${reads ? ':r' : ''}`;
  const kind: LockKind = reader ? 'read' : random.pick(['write', 'write', 'exclusive']);
  const ownerToken = tokenOf(reader);
  const ttlMs = random.pick(TTLS_MS);
  const block = random.pick(BLOCKS);
  const name = { key, ownerToken, kind };
  const dice = random.next();
  if (dice < 0.02)
    return {
      type: 'acquire',
      request: { ...name, kind: 'write', ownerToken: tokenOf(false), ttlMs, wait: false, block, steal: true },
    };
  if (dice < 0.5) return { type: 'acquire', request: { ...name, ttlMs, wait: random.chance(0.8), block } };
  if (dice < 0.64) return { type: 'release', request: name };
  if (dice < 0.74)
    return { type: 'release', request: { ...name, next: { ownerToken: tokenOf(reader), ttlMs, block } } };
  if (dice < 0.8) return { type: 'release', request: { ...name, grantOwn: { ttlMs, block } } };
  if (dice < 0.88) return { type: 'renew', request: { ...name, ttlMs, exact: random.chance(0.3) } };
  if (dice < 0.93) {
    return { type: 'downgrade', request: { key, ownerToken: tokenOf(false), readToken: tokenOf(true), ttlMs } };
  }
  if (dice < 0.96) return { type: 'expire', ownerToken: tokenOf(true) };
  if (dice < 0.97) return { type: 'silence', ownerToken };
  if (dice < 0.99) return { type: 'overwrite', owner: undefined };
  return { type: 'overwrite', owner: random.pick(FOREIGN), ...(random.chance(0.5) ? { ttlMs } : {}) };
}
