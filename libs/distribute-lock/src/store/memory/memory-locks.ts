import { kindOfToken, processOf } from '../../runtime/owner-token.js';
import {
  BUSY,
  DELEGATED,
  FREE,
  GRANTED,
  GRANTED_NEXT,
  LOST,
  PASSED,
  QUEUED,
  REFUSED,
  RENEWED,
  STILL_QUEUED,
} from '../protocol/reply-codes.js';
import type {
  AcquireAllAnswer,
  AcquireAnswer,
  AcquireRequest,
  DowngradeRequest,
  LockMessage,
  LockName,
  LockState,
  MoveAnswer,
  MoveRequest,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../lock-store.js';
import { stateOfValue } from '../lock-value.js';
import type { Replies } from '../protocol/reply.js';
import { runDeleteForeign } from '../protocol/delete-foreign.js';
import { runLocks } from '../protocol/locks.js';
import { runMultiKey } from '../protocol/multi-key.js';
import { runReadWrites } from '../protocol/read-writes.js';
import { runRule } from '../protocol/run-rule.js';
import { runSemaphores } from '../protocol/semaphores.js';
import { ONE_PRIMARY, type Settings } from '../protocol/settings.js';
import { RedisKeys } from '../redis/redis-keys.js';
import { MemoryServer } from './memory-server.js';

/** What the locks in memory need of their surroundings: a clock and publication. */
export interface MemoryHost {
  /** The time in milliseconds; it may have a fraction. */
  now(): number;
  /** Returns how many subscribers received the message. */
  publish(processId: string, message: LockMessage): number;
}

/** The rules decide everything, so no key of the store needs a prefix. */
export const NAMES = new RedisKeys('');
/** In memory a command takes effect when it is sent. */
const NO_DEADLINE = '0';
const TYPES = { g: 'granted', c: 'contended' } as const;
/** The third word of a semaphore's reply: what is known about the place of the token. */
const [STOOD, ADJACENT, OTHER_KIND] = [0, 1, 2];

type Renewed = Exclude<RenewAnswer, Error>;

/** All kinds of locks in memory, by the rules that Redis executes. */
export class MemoryLocks {
  readonly server: MemoryServer;

  constructor(
    private readonly host: MemoryHost,
    private readonly settings: Settings = ONE_PRIMARY,
  ) {
    this.server = new MemoryServer({
      nowMs: () => host.now(),
      publish: (_, message) => this.publish(message),
    });
  }

  /** @param counted - whether fencing tokens may be incremented if the lock has no holder and no waiter */
  acquire(request: AcquireRequest, counted = false): AcquireAnswer {
    const { ownerToken, ttlMs, wait, block, kind, steal } = request;
    const name = steal === true ? 's' : wait ? 'w' : 'a';
    const text = `${name} ${ownerToken} ${ttlMs} ${block} ${NO_DEADLINE}${counted ? ' +' : ''}`;
    if (kind === 'semaphore') return permitsAnswer(this.run(request, text));
    const [code, x, y] = steal === true ? this.runReadWrite(request, text) : this.run(request, text);
    if (code === GRANTED) return { outcome: 'granted', fencingToken: x as number, waiting: y as number };
    const remainingMs = x as number;
    if (code === BUSY) return { outcome: 'busy', remainingMs, foreign: y === 1 };
    const queued = { outcome: 'queued', remainingMs, foreign: y === 1, stood: code === STILL_QUEUED } as const;
    return typeof y === 'string' ? { ...queued, ownToken: y } : expected(code, [QUEUED, STILL_QUEUED], queued);
  }

  acquireAll(requests: readonly AcquireRequest[]): AcquireAllAnswer {
    const keys = requests.flatMap(({ key }) => [key, NAMES.queue(key)]);
    const text = [requests[0].ttlMs, NO_DEADLINE, ...requests.map(({ ownerToken }) => ownerToken)].join(' ');
    const [code, x] = this.call(runMultiKey, keys, text);
    if (code === BUSY) return { outcome: 'busy', remainingMs: x as number };
    const fencingTokens = requests.map((_, i) => (x as number) + i);
    return expected(code, [GRANTED], { outcome: 'granted', fencingTokens });
  }

  release(request: ReleaseRequest): ReleaseAnswer {
    const { ownerToken, next, grantOwn, kind } = request;
    const again = next ?? grantOwn;
    const text =
      again === undefined
        ? `d ${ownerToken}`
        : `r ${ownerToken} ${next?.ownerToken ?? '-'} ${again.ttlMs} ${again.block} ${NO_DEADLINE}`;
    const [code, x, y] = this.run(request, text);
    if (code === FREE) return { outcome: 'free' };
    if (code === PASSED) return { outcome: 'passed' };
    if (code === LOST) return { outcome: 'lost', resent: false, ...(x === 1 ? { taken: true } : {}) };
    if (code === QUEUED) return { outcome: 'queued', remainingMs: x as number };
    const isPermit = kind === 'semaphore';
    const token = isPermit ? next!.ownerToken : (y as string);
    const waiting = isPermit ? (y as number) : 0;
    return expected(code, [GRANTED_NEXT], {
      outcome: 'granted',
      ownerToken: token,
      fencingToken: x as number,
      waiting,
    });
  }

  renew(request: RenewRequest): Renewed {
    const { ownerToken, ttlMs, exact } = request;
    return renewed(this.run(request, `n ${ownerToken} ${ttlMs}${exact === true ? ' =' : ''}`));
  }

  /** Converts a write lock into a read lock and admits the waiting readers. The lease never becomes shorter. */
  downgrade(request: DowngradeRequest): Renewed {
    return renewed(this.runReadWrite(request, `g ${request.ownerToken} ${request.ttlMs} ${request.readToken}`));
  }

  move(request: MoveRequest): MoveAnswer {
    const text = `m ${request.ownerToken} ${request.ttlMs} ${request.to} ${NO_DEADLINE}`;
    const [code, x, y] = request.kind === 'semaphore' ? this.run(request, text) : this.runReadWrite(request, text);
    if (code === LOST) return { outcome: 'lost', taken: x === 1 };
    return expected(code, [GRANTED], { outcome: 'granted', fencingToken: x as number, waiting: y as number });
  }

  /** Deletes the lock of a foreign client if its value is unchanged. */
  deleteForeign(key: string, value: string): boolean {
    return runRule(runDeleteForeign, this.server, [key, NAMES.readers(key), NAMES.permits(key)[0]], [value]) === 1;
  }

  inspect(key: string): LockState {
    const { server } = this;
    const value = server.call('GET', key);
    const [permits, permitsQueue] = NAMES.permits(key);
    const is = stateOfValue(value === false ? undefined : value, this.living(NAMES.readers(key)), this.living(permits));
    return {
      ...is,
      remainingMs: is.kind === 'free' ? 0 : server.call('PTTL', key),
      waiting: server.call('ZCARD', NAMES.queue(key)) + server.call('ZCARD', permitsQueue),
    };
  }

  /** The owner tokens of the leases that have not ended. */
  private living(leases: string): string[] {
    return this.server.call('ZRANGE', leases, `(${Math.floor(this.host.now())}`, '+inf', 'BYSCORE');
  }

  private run(request: LockName, text: string): Replies {
    const { key, ownerToken } = request;
    const kind = kindOfToken(ownerToken);
    if (kind === 'semaphore') return this.call(runSemaphores, [key, ...NAMES.permits(key)], text);
    if (kind === 'read') return this.runReadWrite(request, text);
    const reply = this.call(runLocks, [key, NAMES.queue(key)], text);
    return reply[0] === DELEGATED ? this.runReadWrite(request, text) : reply;
  }

  private runReadWrite({ key }: LockName, text: string): Replies {
    return this.call(runReadWrites, [key, NAMES.queue(key), NAMES.readers(key), NAMES.gate(key)], text);
  }

  private call(rule: () => number | Replies, keys: readonly string[], text: string): Replies {
    const reply = runRule(rule, this.server, [NAMES.fence, ...keys], [text], this.settings);
    if (typeof reply === 'number') return [text.startsWith('d') ? FREE : GRANTED, reply, 0];
    if (reply[0] === REFUSED) throw new Error(String(reply[1]));
    return reply;
  }

  private publish(message: string): number {
    const [type, ownerToken] = message.split(' ', 2);
    const processId = processOf(ownerToken);
    if (processId === undefined) return 0;
    const key = message.slice(type.length + ownerToken.length + 2);
    return this.host.publish(processId, { type: TYPES[type as keyof typeof TYPES], key, ownerToken });
  }
}

function permitsAnswer([code, x, y]: Replies): AcquireAnswer {
  if (code === GRANTED) return { outcome: 'granted', fencingToken: x as number, waiting: y as number };
  const remainingMs = x as number;
  if (code === BUSY) return { outcome: 'busy', remainingMs, foreign: y === 1 };
  const queued = { outcome: 'queued', remainingMs } as const;
  if (y === OTHER_KIND) return { ...queued, foreign: true, adjacent: false };
  return expected(code, [QUEUED], { ...queued, foreign: false, stood: y === STOOD, adjacent: y === ADJACENT });
}

function renewed([code, x]: Replies): Renewed {
  if (code === LOST) return x === 1 ? 'taken' : 'lost';
  return expected(code, [RENEWED], x as number);
}

function expected<T>(code: Replies[number] | undefined, codes: readonly number[], answer: T): T {
  if (codes.includes(code as number)) return answer;
  throw new Error(`A rule replied with the code ${String(code)}`);
}
