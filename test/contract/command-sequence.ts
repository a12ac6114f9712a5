import type {
  AcquireRequest,
  DowngradeRequest,
  ReleaseRequest,
  RenewRequest,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import type { Random } from '../simulation/random.js';

/** One event of a key. */
export type Command =
  | { readonly type: 'acquire'; readonly request: AcquireRequest }
  | { readonly type: 'release'; readonly request: ReleaseRequest }
  | { readonly type: 'renew'; readonly request: RenewRequest }
  | { readonly type: 'downgrade'; readonly request: DowngradeRequest }
  /** The lease of a reader or of permits ends early. */
  | { readonly type: 'expire'; readonly ownerToken: string }
  /** A waiter has missed its heartbeats. */
  | { readonly type: 'silence'; readonly ownerToken: string }
  /** A foreign write to the key. `undefined` deletes it, as the end of a lease does. */
  | { readonly type: 'overwrite'; readonly owner: string | undefined; readonly ttlMs?: number };

/** The leases differ by more than a slow machine can delay a sequence. */
export const TTLS_MS = [20_000, 40_000, 60_000];
export const BLOCKS = [1, 1, 3, 64];
const TOKENS_A_PROCESS = 3;
/** Owner tokens have the form `<22 characters>:<letters and digits>`; these do not. */
export const FOREIGN = ['x', 'somebody:1', 'semaphore:3', `${'p'.repeat(23)}:1`, `${'p'.repeat(22)}:one`];

/** Commands of one key; an inner array is sent in one call. */
export type Sequence = readonly (readonly Command[])[];

/** Draws a command of one of these processes. */
export type DrawCommand = (random: Random, key: string, processes: readonly string[]) => Command;

/** Commands that two or three processes may send, and that their networks may repeat, in any order. */
export function sequenceOf(
  random: Random,
  key: string,
  processes: readonly string[],
  draw: DrawCommand = commandOf,
): Sequence {
  const few = processes.toSorted(() => random.next() - 0.5).slice(0, random.int(2, 3));
  return Array.from({ length: random.int(4, 10) }, () => {
    const together = Array.from({ length: random.chance(0.75) ? 1 : random.int(2, 3) }, () => draw(random, key, few));
    const alone = together.find(goesAnotherWay);
    return alone === undefined ? together : [alone];
  });
}

function commandOf(random: Random, key: string, processes: readonly string[]): Command {
  const process = random.pick(processes);
  const token = (): string => `${process}:${random.int(1, TOKENS_A_PROCESS)}`;
  const ttlMs = random.pick(TTLS_MS);
  const block = random.pick(BLOCKS);
  const ownerToken = token();
  const dice = random.next();
  if (dice < 0.5) return { type: 'acquire', request: { key, ownerToken, ttlMs, wait: random.chance(0.75), block } };
  if (dice < 0.62) return { type: 'release', request: { key, ownerToken } };
  if (dice < 0.76)
    return { type: 'release', request: { key, ownerToken, next: { ownerToken: token(), ttlMs, block } } };
  if (dice < 0.84) return { type: 'release', request: { key, ownerToken, grantOwn: { ttlMs, block } } };
  if (dice < 0.89) return { type: 'renew', request: { key, ownerToken, ttlMs, exact: random.chance(0.3) } };
  if (dice < 0.93) return { type: 'silence', ownerToken };
  if (dice < 0.98) return { type: 'overwrite', owner: undefined };
  return { type: 'overwrite', owner: random.pick(FOREIGN), ...(random.chance(0.5) ? { ttlMs } : {}) };
}

/**
 * Whether the command uses another connection or another script. Such a command is sent alone, because its order would
 * be unknown.
 */
const goesAnotherWay = (command: Command): boolean =>
  command.type === 'overwrite' ||
  command.type === 'expire' ||
  command.type === 'silence' ||
  (command.type !== 'downgrade' && command.request.kind === 'exclusive');
