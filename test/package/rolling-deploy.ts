import type { RedisServer } from '../support/redis-server.js';

/** What an instance saw while it held a lock; applications/rolling.mjs writes it. */
interface Hold {
  readonly instance: string;
  readonly fencingToken: number;
  /** Holders of this kind, this one included. */
  readonly inside: number;
  /** Holders of the kind that must not hold the key at the same time. */
  readonly others: number;
  readonly waitedMs: number;
}

const AT_ONCE = { exclusive: 1, strict: 1, semaphore: 2, write: 1, read: Infinity };
export type RollingKind = keyof typeof AT_ONCE;
export const ROLLING_KINDS = Object.keys(AT_ONCE) as RollingKind[];

/** A waiter wakes by message, or at its next heartbeat at the latest. */
const LONGEST_WAIT_MS = 2_500;

/** All holds of a kind, in their order. */
export async function holdsOf(redis: RedisServer, kind: RollingKind): Promise<Hold[]> {
  const entries = await redis.run((client) => client.lrange(`holds:${kind}`, 0, -1));
  return entries.map((entry) => JSON.parse(entry) as Hold);
}

/** How often the lock passed from one instance to the other. */
export function handOvers(holds: readonly Hold[]): number {
  return holds.filter(({ instance }, at) => at > 0 && instance !== holds[at - 1]?.instance).length;
}

/** The violated promises, one line each. */
export function faultsOf(kind: RollingKind, holds: readonly Hold[]): string[] {
  return holds.flatMap((hold, at) => {
    const { inside, others, fencingToken, waitedMs } = hold;
    const shown = `${kind}, hold ${at}: ${JSON.stringify(hold)}`;
    const last = holds[at - 1]?.fencingToken ?? 0;
    return [
      ...(inside > AT_ONCE[kind] || others > 0 ? [`overlap: ${shown}`] : []),
      // several holders record their tokens in any order
      ...(AT_ONCE[kind] === 1 && fencingToken <= last ? [`token not above ${last}: ${shown}`] : []),
      ...(waitedMs > LONGEST_WAIT_MS ? [`late: ${shown}`] : []),
    ];
  });
}
