import {
  type AcquireAllAnswer,
  type AcquireAnswer,
  type AcquireRequest,
  type DowngradeRequest,
  type LockName,
  LockStoreError,
  type MoveAnswer,
  type MoveRequest,
  type ReleaseAnswer,
  type ReleaseRequest,
  type RenewAnswer,
  type RenewRequest,
} from './lock-store.js';
import {
  BUSY,
  FREE,
  GRANTED,
  GRANTED_NEXT,
  LOST,
  PASSED,
  QUEUED,
  RENEWED,
  STILL_QUEUED,
} from './protocol/reply-codes.js';
import type { ReplyWord } from './protocol/reply.js';
import { isCount, isFencingToken, isFlag, isLeftMs, isTokenBeside } from './reply-checks.js';

/** The rule that executes a command: `runLocks`, `runReadWrites` or `runSemaphores`. */
export type RuleName = 'locks' | 'readWrites' | 'semaphores';

/** A command of the rules: which rule executes it, what it says, and what its reply means. Redis and memory share it. */
export interface RuleCommand<Request extends LockName, Answer> {
  rule(request: Request): RuleName;
  /** @param deadlineMs - on the server's clock; a later execution grants nothing. 0 for none */
  text(request: Request, deadlineMs: number): string;
  /**
   * What the reply means; undefined if it is not a valid reply to the command.
   * @param resent - the command may have been sent on two connections, so it may be executed twice
   */
  meaning(request: Request, code: ReplyWord, x: ReplyWord, y: ReplyWord, resent: boolean): Answer | undefined;
}

/** The third word of a semaphore's reply: what is known about the place of the token. */
const [KEPT, ADJACENT, OTHER_KIND, APART] = [0, 1, 2, 3];
const PLACES: readonly unknown[] = [KEPT, ADJACENT, OTHER_KIND, APART];

function ruleOfKind({ kind = 'exclusive' }: LockName): RuleName {
  if (kind === 'semaphore') return 'semaphores';
  return kind === 'exclusive' ? 'locks' : 'readWrites';
}

export const ACQUIRE: RuleCommand<AcquireRequest, AcquireAnswer> = {
  rule: (request) => (request.steal === true ? 'readWrites' : ruleOfKind(request)),
  text: ({ ownerToken, ttlMs, wait, block, steal }, deadlineMs) =>
    `${steal === true ? 's' : wait ? 'w' : 'a'} ${ownerToken} ${ttlMs} ${block} ${deadlineMs}`,
  meaning(request, code, x, y, resent) {
    const answer = acquireAnswer(request, code, x, y);
    return answer !== undefined && resent ? { ...answer, resent } : answer;
  },
};

function acquireAnswer(
  request: AcquireRequest,
  code: ReplyWord,
  x: ReplyWord,
  y: ReplyWord,
): AcquireAnswer | undefined {
  if (code === GRANTED) {
    if (!isFencingToken(x, request.block) || !isWaiting(request, y)) return undefined;
    return { outcome: 'granted', fencingToken: x, waiting: y };
  }
  if (!isLeftMs(x)) return undefined;
  if (code === BUSY) return isFlag(y) ? { outcome: 'busy', remainingMs: x, foreign: y === 1 } : undefined;
  if (code !== QUEUED && code !== STILL_QUEUED) return undefined;
  return request.kind === 'semaphore' ? queuedForPermits(code, x, y) : queued(request, code, x, y);
}

function queued(
  { ownerToken }: LockName,
  code: ReplyWord,
  remainingMs: number,
  y: ReplyWord,
): AcquireAnswer | undefined {
  const answer = { outcome: 'queued', remainingMs, keptPlace: code === STILL_QUEUED } as const;
  if (isFlag(y)) return { ...answer, foreign: y === 1 };
  return isTokenBeside(y, ownerToken) ? { ...answer, foreign: false, ownToken: y } : undefined;
}

function queuedForPermits(code: ReplyWord, remainingMs: number, place: ReplyWord): AcquireAnswer | undefined {
  if (code !== QUEUED || !PLACES.includes(place)) return undefined;
  const answer = { outcome: 'queued', remainingMs } as const;
  if (place === OTHER_KIND) return { ...answer, foreign: true, adjacent: false };
  return { ...answer, foreign: false, keptPlace: place === KEPT, adjacent: place === ADJACENT };
}

/** Whether the word is a number of waiting processes. A semaphore replies only whether one waits. */
const isWaiting = ({ kind }: LockName, word: ReplyWord): word is number =>
  kind === 'semaphore' ? isFlag(word) : isCount(word);

/** The text of the command that acquires several exclusive locks, all or none. */
export const allText = (requests: readonly AcquireRequest[], deadlineMs: number): string =>
  [requests[0].ttlMs, deadlineMs, ...requests.map(({ ownerToken }) => ownerToken)].join(' ');

/** As `RuleCommand.meaning`, for the command with this text. */
export function allAnswer(
  requests: readonly AcquireRequest[],
  code: ReplyWord,
  x: ReplyWord,
  resent: boolean,
): AcquireAllAnswer | undefined {
  if (code === BUSY) return isLeftMs(x) ? { outcome: 'busy', remainingMs: x, resent } : undefined;
  if (code !== GRANTED || !isFencingToken(x, requests.length)) return undefined;
  return { outcome: 'granted', fencingTokens: requests.map((_, i) => x + i), resent };
}

/** The next attempt of the process, with its number of fencing tokens. A semaphore grants only an attempt that is named. */
const again = ({ kind, next, grantOwn }: ReleaseRequest) => next ?? (kind === 'semaphore' ? undefined : grantOwn);

export const RELEASE: RuleCommand<ReleaseRequest, ReleaseAnswer> = {
  rule: ruleOfKind,
  text(request, deadlineMs) {
    const attempt = again(request);
    if (attempt === undefined) return `d ${request.ownerToken}`;
    return `r ${request.ownerToken} ${request.next?.ownerToken ?? '-'} ${attempt.ttlMs} ${attempt.block} ${deadlineMs}`;
  },
  meaning(request, code, x, y, resent) {
    if (code === FREE) return { outcome: 'free' };
    if (code === PASSED) return { outcome: 'passed' };
    if (code === LOST) return isFlag(x) ? { outcome: 'lost', resent, ...(x === 1 ? { taken: true } : {}) } : undefined;
    const attempt = again(request);
    if (attempt === undefined) return undefined;
    if (code === QUEUED) return isLeftMs(x) ? { outcome: 'queued', remainingMs: x } : undefined;
    if (code !== GRANTED_NEXT || !isFencingToken(x, attempt.block)) return undefined;
    return grantedNext(request, x, y);
  },
};

/** The granted token is the requested one, or any token of this process if none was requested. */
function grantedNext(
  { kind, ownerToken, next }: ReleaseRequest,
  fencingToken: number,
  y: ReplyWord,
): ReleaseAnswer | undefined {
  const answer = { outcome: 'granted', fencingToken } as const;
  if (kind === 'semaphore')
    return next !== undefined && isFlag(y) ? { ...answer, ownerToken: next.ownerToken, waiting: y } : undefined;
  const isNext = next === undefined ? isTokenBeside(y, ownerToken) : y === next.ownerToken;
  return isNext ? { ...answer, ownerToken: y as string, waiting: 0 } : undefined;
}

export const RENEW: RuleCommand<RenewRequest, RenewAnswer> = {
  rule: ruleOfKind,
  text: ({ ownerToken, ttlMs, exact }) => `n ${ownerToken} ${ttlMs}${exact === true ? ' =' : ''}`,
  meaning({ exact }, code, x, _, resent) {
    const answer = renewed(code, x);
    if (typeof answer !== 'number' || exact !== true || !resent) return answer;
    // A command that was sent on two connections may be executed again and shorten the lease later.
    return new LockStoreError('The connection was lost while the lease was shortened.', true);
  },
};

/** Converts a write lock into a read lock and admits the waiting readers. The lease never becomes shorter. */
export const DOWNGRADE: RuleCommand<DowngradeRequest, RenewAnswer> = {
  rule: () => 'readWrites',
  text: ({ ownerToken, ttlMs, readToken }) => `g ${ownerToken} ${ttlMs} ${readToken}`,
  meaning: (_, code, x) => renewed(code, x),
};

function renewed(code: ReplyWord, x: ReplyWord): RenewAnswer | undefined {
  if (code === LOST) return isFlag(x) ? (x === 1 ? 'taken' : 'lost') : undefined;
  return code === RENEWED && isCount(x) ? x : undefined;
}

export const MOVE: RuleCommand<MoveRequest, MoveAnswer> = {
  rule: ({ kind }) => (kind === 'semaphore' ? 'semaphores' : 'readWrites'),
  text: ({ ownerToken, ttlMs, to }, deadlineMs) => `m ${ownerToken} ${ttlMs} ${to} ${deadlineMs}`,
  meaning(request, code, x, y) {
    if (code === LOST) return isFlag(x) ? { outcome: 'lost', taken: x === 1 } : undefined;
    if (code !== GRANTED || !isFencingToken(x) || !isWaiting(request, y)) return undefined;
    return { outcome: 'granted', fencingToken: x, waiting: y };
  },
};
