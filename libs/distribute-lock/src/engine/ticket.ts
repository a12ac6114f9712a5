import { createHash, randomBytes } from 'node:crypto';

import { LockUsageError } from '../errors.js';
import { detachedToken, permitsSuffix } from '../runtime/owner-token.js';
import type { LockKind } from '../store/lock-store.js';

const VERSION = '1';
/** 128 random bits, in base64url. */
const SECRET_BYTES = 16;
const SECRET_LENGTH = 22;
const SCOPE_LENGTH = 4;
const TICKET = new RegExp(
  `^lt(\\d{1,3})_([\\w-]{${SCOPE_LENGTH}})([\\w-]{${SCOPE_LENGTH}})([\\w-]{${SECRET_LENGTH}})$`,
);

const hash = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, length);

/** Where a ticket is valid. */
export interface TicketOrigin {
  /** What the store calls its locks, such as their prefix. */
  readonly scope: string;
  /** The name of the connection in this process. */
  readonly connection: string;
}

/** A ticket, as far as its text shows. */
export interface Ticket {
  /**
   * A hash of the secret: it names the record of the ticket, and owner tokens contain it. The secret cannot be computed from it, so
   * what Redis, inspections and messages show is not enough to use the ticket.
   */
  readonly id: string;
  /** Whether this process calls the connection by another name. */
  readonly isOfOtherName: boolean;
}

/** A new ticket: `lt<version>_<hash of the scope><hash of the connection><secret>`. */
export function newTicket({ scope, connection }: TicketOrigin): { readonly text: string; readonly id: string } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const origin = hash(scope, SCOPE_LENGTH) + hash(connection, SCOPE_LENGTH);
  return { text: `lt${VERSION}_${origin}${secret}`, id: hash(secret, SECRET_LENGTH) };
}

/** @throws LockUsageError if it is no ticket of this version and prefix; the error does not contain the ticket */
export function ticketOf(text: unknown, method: string, { scope, connection }: TicketOrigin): Ticket {
  const [, version, inScope, ofConnection, secret] = (typeof text === 'string' && TICKET.exec(text)) || [];
  const refusal = (why: string): LockUsageError =>
    new LockUsageError(`${method} got a ticket that ${why}. Pass the string that detach() returned, unchanged.`);
  if (secret === undefined) throw refusal('has another form');
  if (version !== VERSION) throw refusal(`has version ${version}, but this package reads version ${VERSION}`);
  if (inScope !== hash(scope, SCOPE_LENGTH)) throw refusal('belongs to locks of another "prefix"');
  return { id: hash(secret, SECRET_LENGTH), isOfOtherName: ofConnection !== hash(connection, SCOPE_LENGTH) };
}

/** What the record of a ticket says about the lease. */
export interface DetachedLease {
  readonly kind: Exclude<LockKind, 'read'>;
  readonly keys: readonly string[];
  /** Of a semaphore; otherwise 0. */
  readonly permits: number;
  /** Of a semaphore; otherwise 1. */
  readonly weight: number;
  /** The largest fencing token of the lease. */
  readonly fencingToken: number;
  /** How long the lease had been held before it was detached, milliseconds. */
  readonly heldMs: number;
  readonly ttlMs: number;
  /** How long the record lasts. */
  readonly recordMs: number;
}

/** The end of the owner tokens of such a lease. */
export const suffixOf = ({ kind, permits, weight }: Pick<DetachedLease, 'kind' | 'permits' | 'weight'>): string =>
  kind === 'semaphore' ? permitsSuffix(permits, weight) : '';

/** The owner token of a key while no process holds it. */
export const tokenOf = (id: string, lease: DetachedLease, index: number): string =>
  detachedToken(id, index, suffixOf(lease));

const COUNTS = ['permits', 'weight', 'fencingToken', 'heldMs', 'ttlMs', 'recordMs'] as const;
const TRAVELLING: readonly unknown[] = ['exclusive', 'write', 'semaphore'];

/** Reads the text of a record. It may have any form, so every part is checked. */
export function detachedLease(text: string): DetachedLease | undefined {
  try {
    const lease = JSON.parse(text) as DetachedLease;
    const { kind, keys } = lease;
    const isValid =
      TRAVELLING.includes(kind) &&
      Array.isArray(keys) &&
      keys.length > 0 &&
      keys.every((key) => typeof key === 'string') &&
      COUNTS.every((name) => Number.isSafeInteger(lease[name]) && lease[name] >= 0);
    return isValid ? lease : undefined;
  } catch {
    return undefined;
  }
}
