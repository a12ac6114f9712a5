import { randomBytes } from 'node:crypto';

/**
 * Names this process: a channel id and a secret, 64 random bits each, base64url. The channel id is part of the name of the inbox, which
 * every client of the server may list. The secret is only in owner tokens, so the right to publish is not enough to make one up.
 */
export type ProcessId = string;

const CHANNEL_ID_LENGTH = 11;
const PROCESS_ID_LENGTH = 2 * CHANNEL_ID_LENGTH;

const random64 = (): string => randomBytes(8).toString('base64url');

export const newProcessId = (): ProcessId => random64() + random64();

/** The part of a process id that names the inbox. */
export const channelIdOf = (processId: ProcessId): string => processId.slice(0, CHANNEL_ID_LENGTH);

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

  /** Whether the token was minted here. */
  issued(token: string): boolean {
    if (!token.startsWith(this.processId)) return false;
    const sequence = parseInt(SEQUENCE.exec(token.slice(PROCESS_ID_LENGTH))?.[1] ?? '', 36);
    return sequence >= 1 && sequence <= this.sequence;
  }
}

/** Exclusive and write locks of a key go one way in the process, readers another, permits a third. */
export type LaneName = 'exclusive' | 'read' | 'semaphore';

/** What kind of attempt the token belongs to. */
export function laneOf(ownerToken: string): LaneName {
  const suffix = ownerToken.indexOf(':', PROCESS_ID_LENGTH + 1);
  if (suffix < 0) return 'exclusive';
  return ownerToken.charAt(suffix + 1) === 'r' ? 'read' : 'semaphore';
}

/** The permits that the token of a semaphore takes: its last part, so it never changes. */
export const weightOf = (ownerToken: string): number => Number(ownerToken.slice(ownerToken.lastIndexOf(':') + 1));

const SEQUENCE = /^:([0-9a-z]{1,10})(?::(?:r|\d{1,7}))?$/;
const TOKEN = /^([\w-]{22}):[0-9A-Za-z]+(?::[0-9A-Za-z]+)?$/;

/** The process that minted an owner token; `undefined` when it is none of ours. */
export function processOf(token: string): ProcessId | undefined {
  return TOKEN.exec(token)?.[1];
}
