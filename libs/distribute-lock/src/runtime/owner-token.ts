import { randomBytes } from 'node:crypto';

/**
 * Identifies this process: a channel id and a secret of 64 random bits each, in base64url. The name of the inbox contains the
 * channel id, and every client of the server may list inboxes. Only owner tokens contain the secret, so the right to publish
 * does not suffice to forge a token.
 */
export type ProcessId = string;

const CHANNEL_ID_LENGTH = 11;
const PROCESS_ID_LENGTH = 2 * CHANNEL_ID_LENGTH;

const random64 = (): string => randomBytes(8).toString('base64url');

export const newProcessId = (): ProcessId => random64() + random64();

/** The part of a process id that names the inbox. */
export const channelIdOf = (processId: ProcessId): string => processId.slice(0, CHANNEL_ID_LENGTH);

/**
 * Issues owner tokens `<process id>:<sequence>`, with the sequence in base 36. Each attempt gets a new token, so a late command
 * of one attempt cannot affect the next. The token of a reader ends in `:r`, the token of a semaphore in
 * `P<permits>:<weight>`.
 */
export class OwnerTokens {
  private sequence = 0;
  /** All tokens share this string. */
  private readonly start: string;

  constructor(readonly processId: ProcessId = newProcessId()) {
    this.start = `${processId}:`;
  }

  next(suffix = ''): string {
    this.sequence += 1;
    // Base 36 keeps the value within the smaller of two allocation sizes in Redis, for 60 million attempts.
    return `${this.start}${this.sequence.toString(36)}${suffix}`;
  }

  /** Whether this process issued the token. */
  issued(token: string): boolean {
    if (!token.startsWith(this.processId)) return false;
    const sequence = parseInt(SEQUENCE.exec(token.slice(PROCESS_ID_LENGTH))?.[1] ?? '', 36);
    return sequence >= 1 && sequence <= this.sequence;
  }
}

/** A process has one queue per key for exclusive and write locks, one for readers, and one for permits. */
export type TokenKind = 'exclusive' | 'read' | 'semaphore';

/** The kind of the attempt that the token belongs to. */
export function kindOfToken(ownerToken: string): TokenKind {
  const suffix = ownerToken.indexOf(':', PROCESS_ID_LENGTH + 1);
  if (suffix < 0) return 'exclusive';
  return ownerToken.charAt(suffix + 1) === 'r' ? 'read' : 'semaphore';
}

/** The suffix of a semaphore token: the total number of permits that its caller knows, and the permits that it takes. */
export const permitsSuffix = (permits: number, weight: number): string => `P${permits}:${weight}`;

/** The total number of permits of the caller of a semaphore token. The permits in use must fit within it. */
export const permitsOfToken = (ownerToken: string): number =>
  parseInt(ownerToken.slice(ownerToken.lastIndexOf('P') + 1), 10);

/** The permits that a semaphore token takes. They never change. */
export const weightOf = (ownerToken: string): number => Number(ownerToken.slice(ownerToken.lastIndexOf(':') + 1));

/**
 * The owner token of a detached lease. The hash of its ticket takes the place of the process id, so no process receives messages
 * for it. Its sequence begins with 0, as no sequence of a process does.
 */
export const detachedToken = (ticketHash: string, index: number, suffix: string): string =>
  `${ticketHash}:0${index.toString(36)}${suffix}`;

/** Whether the owner token is that of a detached lease. */
export const isDetached = (ownerToken: string): boolean => ownerToken.startsWith(':0', PROCESS_ID_LENGTH);

const SEQUENCE = /^:([0-9a-z]{1,10})(?::r|P\d{1,4}:\d{1,4})?$/;
const TOKEN = /^([\w-]{22}):[0-9A-Za-z]+(?::[0-9A-Za-z]+)?$/;

/** The process that issued an owner token; `undefined` if this package did not issue it. */
export function processOf(token: string): ProcessId | undefined {
  return TOKEN.exec(token)?.[1];
}
