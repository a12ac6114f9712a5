import { toNumber, wordsOf } from './host.js';

/**
 * One command of a read/write lock or a semaphore; `runReadWrites` and `runSemaphores` say which words it has. An exclusive lock
 * reads its words without such an object, which costs as much as a Redis command.
 */
export interface LockCommand {
  readonly name: string;
  readonly token: string;
  readonly ttlMs: number;
  /** Number of fencing tokens of a grant. */
  readonly block: number;
  readonly deadlineMs: string;
  /**
   * The next attempt of the process that releases: a token, `-` for any head of the queue that is its own, or empty.
   */
  readonly next: string;
  /** Whether a renewal may shorten the lease. */
  readonly exact: boolean;
  /** The token that continues the lease: of a downgrade, the token of the reader; of a move, any token. */
  readonly to: string;
}

/** Reads a command; throws when the text has another form. */
export function commandOf(text: string): LockCommand {
  const [name, token, first, second, third, fourth] = wordsOf(text);
  if (name === undefined) throw 'unknown command';
  const isRelease = name === 'r';
  const block = isRelease ? third : second;
  return {
    name,
    token,
    ttlMs: toNumber(isRelease ? second : first),
    block: toNumber(block),
    deadlineMs: isRelease ? fourth : third,
    next: isRelease ? first : fourth,
    exact: second === '=',
    to: second,
  };
}
