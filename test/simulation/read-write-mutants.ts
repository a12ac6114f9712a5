import type { Grant } from '../../libs/distribute-lock/src/engine/lease/grant.js';
import { SharedState } from '../../libs/distribute-lock/src/engine/shared.js';
import type { AcquireRequest } from '../../libs/distribute-lock/src/store/lock-store.js';
import { READERS } from '../../libs/distribute-lock/src/store/lock-value.js';
import { LockTable } from '../../libs/distribute-lock/src/store/memory/lock-table.js';
import type { Before, ReaderLeases } from '../../libs/distribute-lock/src/store/memory/read-write-steps.js';
import { isReader, type TableHost } from '../../libs/distribute-lock/src/store/memory/table-state.js';
import { patch, type Restore } from './patch.js';
import type { MakeTable, SimulatedTableHost } from './tables.js';

/** The difference between the clocks of two processes. */
const SKEW_MS = 5_000;

/** Private parts of the table that the mutants replace. */
interface Inside {
  readonly host: TableHost;
  readonly leases: ReaderLeases;
  owner(key: string): string | undefined;
  leftMs(key: string): number;
  put(key: string, owner: string, endsAt: number): void;
  queued(key: string): readonly string[];
  unqueue(key: string, ownerToken: string): boolean;
  reads(key: string, ownerToken: string): boolean;
  settle(key: string): boolean;
  letIn(key: string, own?: string): boolean;
  beginReading(key: string, own: string | undefined, ttlMs: number): boolean;
  next(key: string, before: Before): string | undefined;
  writerLeft(key: string): void;
  writerWaits(key: string): number;
  acquire(request: AcquireRequest): unknown;
}

/** Replaces a step of a part of the table; throws when the name has changed. */
function replace<T extends object, K extends keyof T>(part: T, name: K, make: (original: T[K]) => T[K]): void {
  const original = part[name];
  if (typeof original !== 'function') throw new Error(`The table has no step ${String(name)}`);
  part[name] = make(original.bind(part) as T[K]);
}

const broken = (breakIt: (inside: Inside, leases: ReaderLeases) => void): MakeTable => {
  return (host) => {
    const table = new LockTable(host);
    const inside = table as unknown as Inside;
    breakIt(inside, inside.leases);
    return table;
  };
};

/** How far the clock of a client is ahead of that of the server. Where it is unknown, half of the tokens are late. */
function aheadMs(host: TableHost & Partial<SimulatedTableHost>, ownerToken: string): number {
  if (host.clientNow !== undefined) return host.clientNow() - host.now();
  const sum = [...ownerToken].reduce((total, letter) => total + letter.charCodeAt(0), 0);
  return sum % 2 === 0 ? 0 : -SKEW_MS;
}

/** Each removes one measure that separates readers and writers. Histories notice all of them. */
export const READ_WRITE_MUTANTS: Readonly<Record<string, MakeTable>> = {
  'a reader ignored by a writer': broken((inside) =>
    replace(inside, 'acquire', (original) => (request) => {
      const { key, ownerToken } = request;
      if (!isReader(ownerToken) && inside.owner(key) === READERS) inside.put(key, ownerToken, inside.host.now() + 1);
      return original(request);
    }),
  ),
  'one ttl for all readers': broken((inside, leases) =>
    replace(inside, 'settle', (original) => (key) => {
      const answer = original(key);
      const endsAt = leases.of(key)[0]?.endsAt;
      if (endsAt !== undefined) inside.put(key, READERS, endsAt);
      return answer;
    }),
  ),
  "a client's clock for the end of a lease": broken((inside, leases) =>
    replace(leases, 'lend', (original) => (key, ownerToken, ms) => {
      original(key, ownerToken, Math.max(ms + aheadMs(inside.host, ownerToken), 1));
    }),
  ),
  "one reader's release that ends the phase": broken((inside, leases) =>
    replace(leases, 'end', (original) => (key, ownerToken) => {
      if (!leases.lives(key, ownerToken)) return original(key, ownerToken);
      for (const reader of leases.of(key)) original(key, reader.ownerToken);
    }),
  ),
  'a lease that a late copy shortens': broken((_, leases) =>
    replace(leases, 'lend', (original) => (key, ownerToken, ms) => {
      leases.end(key, ownerToken);
      original(key, ownerToken, ms);
    }),
  ),
  'a downgrade that shortens the lease': broken((inside) =>
    replace(inside, 'beginReading', (original) => (key, own, ttlMs) => original(key, own, ttlMs / 2)),
  ),
  'no gate': broken((_, leases) => replace(leases, 'closeGate', () => () => true)),
  'a phase that keeps old leases': broken((_, leases) => replace(leases, 'clear', () => () => undefined)),
  'an end that is never lowered': broken((inside) =>
    replace(inside, 'settle', (original) => (key) => {
      const endsAt = inside.owner(key) === READERS ? inside.host.now() + inside.leftMs(key) : 0;
      if (!original(key)) return false;
      const left = inside.leftMs(key) + inside.host.now();
      if (endsAt > left) inside.put(key, READERS, endsAt);
      return true;
    }),
  ),
  'one reader instead of all waiting readers': broken((inside) =>
    replace(inside, 'letIn', () => (key, own) => {
      const first = inside.queued(key).find(isReader);
      if (first !== undefined) inside.unqueue(key, first);
      if (first !== undefined && first !== own) inside.leases.lend(key, first, 1_750);
      return inside.settle(key);
    }),
  ),
  'writers always first': broken((inside) => replace(inside, 'next', (original) => (key) => original(key, 'readers'))),
  'readers always first': broken((inside) => replace(inside, 'next', (original) => (key) => original(key, 'writer'))),
  'a renewal without a look at the lock': broken((inside, leases) =>
    replace(inside, 'reads', () => (key, ownerToken) => leases.lives(key, ownerToken)),
  ),
};

/** Mutants without a visible effect on time limits. The comparison with the scripts notices them. */
export const QUIET_READ_WRITE_MUTANTS: Readonly<Record<string, MakeTable>> = {
  'a new phase without its gate': broken((inside, leases) =>
    replace(inside, 'beginReading', (original) => (key, own, ttlMs) => {
      const answer = original(key, own, ttlMs);
      leases.openGate(key);
      return answer;
    }),
  ),
  'a leaving writer that leaves its gate': broken((inside) => replace(inside, 'writerLeft', () => () => undefined)),
  'a renewal that does not report the gate': broken((inside) => replace(inside, 'writerWaits', () => () => 0)),
};

/** Each removes one measure from the lock engine. */
export const READ_WRITE_ENGINE_MUTANTS: Readonly<Record<string, () => Restore>> = {
  'a closed gate ignored by readers of the same process': () =>
    patch(
      SharedState,
      'mayEnter',
      (original) =>
        function (this: SharedState, grant: Grant, ...more: never[]) {
          const { contended } = grant;
          grant.contended = false;
          const answer = original.call(this, grant, ...more);
          grant.contended = contended;
          return answer;
        },
    ),
  'a reply that is older than the notice opens the gate': () =>
    patch(
      SharedState,
      'contendedBy',
      () =>
        function (grant: Grant) {
          grant.contended = true;
        },
    ),
};
