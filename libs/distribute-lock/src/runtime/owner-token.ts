import { randomBytes } from 'node:crypto';

/** Names this process towards the others: 128 random bits, base64url. */
export type ProcessId = string;

export const newProcessId = (): ProcessId => randomBytes(16).toString('base64url');

/**
 * Mints owner tokens `<process id>:<sequence>`, the sequence in base 36, one per attempt and never used again,
 * so that a late command of one attempt cannot touch the next. The token of a reader ends in `:r`, and that of a semaphore in
 * `:<weight>`.
 */
export class OwnerTokens {
  private sequence = 0;

  constructor(readonly processId: ProcessId = newProcessId()) {}

  next(suffix = ''): string {
    this.sequence += 1;
    // Base 36 keeps the value within the smaller of two sizes in which Redis allocates it, for 60 million attempts.
    return `${this.processId}:${this.sequence.toString(36)}${suffix}`;
  }
}

/** Exclusive and write locks of a key go one way in the process, readers another, permits a third. */
export type LaneName = 'exclusive' | 'read' | 'semaphore';

const PROCESS_ID_LENGTH = 22;

/** What kind of attempt the token belongs to. */
export function laneOf(ownerToken: string): LaneName {
  const suffix = ownerToken.indexOf(':', PROCESS_ID_LENGTH + 1);
  if (suffix < 0) return 'exclusive';
  return ownerToken.charAt(suffix + 1) === 'r' ? 'read' : 'semaphore';
}

/** The permits that the token of a semaphore takes: its last part, so it never changes. */
export const weightOf = (ownerToken: string): number => Number(ownerToken.slice(ownerToken.lastIndexOf(':') + 1));

const TOKEN = /^([\w-]{22}):[0-9A-Za-z]+(?::[0-9A-Za-z]+)?$/;

/** The process that minted an owner token; `undefined` when it is none of ours. */
export function processOf(token: string): ProcessId | undefined {
  return TOKEN.exec(token)?.[1];
}
