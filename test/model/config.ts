/** The configurations of the search: who takes part, and which faults may happen. */

export type Kind = 'exclusive' | 'read-write' | 'semaphore' | 'multi-key';
export const KINDS: readonly Kind[] = ['exclusive', 'read-write', 'semaphore', 'multi-key'];

/** One of the tokens that a process may use at a time. */
export interface Slot {
  /** The end of the token. */
  readonly suffix: string;
  /** The index of its lock. */
  readonly lock: number;
  readonly isReader: boolean;
  /** Permits of a semaphore. */
  readonly weight: number;
}

export interface Config {
  readonly kind: Kind;
  readonly processes: number;
  readonly locks: number;
  /** The slots of each process. */
  readonly slots: readonly Slot[];
  /** Largest number of commands between the processes and the server. */
  readonly flight: number;
  /** Whether the scores of a queue contain the time of the last attempt. */
  readonly stamps: boolean;
  readonly permits: number;
  /** Numbers of `store/protocol.ts`, as multiples of the step of the clock, which is 1 ms. Their order is the real one. */
  readonly durations: Readonly<Record<string, number>>;
  readonly ttlMs: number;
  /** Whether leases may be detached: a further process that never runs has their tokens. */
  readonly tickets: boolean;
  /** Duration of a detached lease, which is shorter than that of other leases. */
  readonly detachedMs: number;
}

const DURATIONS = { SHORT_OFFER_MS: 1, EXECUTION_LIMIT_MS: 1, CLAIM_WINDOW_MS: 2, QUEUE_TTL_MS: 4 };

const slot = (suffix: string, weight = 1, lock = 0): Slot => ({ suffix, lock, isReader: suffix === ':r', weight });

const SLOTS: Readonly<Record<Kind, readonly Slot[]>> = {
  exclusive: [slot(''), slot('')],
  'read-write': [slot(''), slot(''), slot(':r'), slot(':r')],
  semaphore: [slot('P2:1'), slot('P2:2', 2)],
  'multi-key': [slot('', 1, 0), slot('', 1, 1)],
};

/** @param processes - 2 or 3 */
export function configOf(kind: Kind, processes: number, flight: number, tickets = false): Config {
  return {
    kind,
    processes,
    locks: kind === 'multi-key' ? 2 : 1,
    slots: SLOTS[kind],
    flight,
    stamps: kind !== 'semaphore',
    permits: 2,
    durations: DURATIONS,
    ttlMs: 3,
    tickets,
    detachedMs: 2,
  };
}
