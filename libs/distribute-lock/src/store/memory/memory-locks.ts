import { processOf } from '../../runtime/owner-token.js';
import { DELEGATED, FREE, GRANTED, REFUSED } from '../protocol/reply-codes.js';
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
import {
  ACQUIRE,
  allAnswer,
  allText,
  DOWNGRADE,
  MOVE,
  RELEASE,
  RENEW,
  type RuleCommand,
  type RuleName,
} from '../rule-commands.js';
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
const NO_DEADLINE = 0;
const TYPES = { g: 'granted', c: 'contended' } as const;

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
    return this.run(ACQUIRE, request, counted ? ' +' : '');
  }

  acquireAll(requests: readonly AcquireRequest[]): AcquireAllAnswer {
    const keys = requests.flatMap(({ key }) => [key, NAMES.queue(key)]);
    const reply = this.call(runMultiKey, keys, allText(requests, NO_DEADLINE));
    return expected(reply, allAnswer(requests, reply[0], reply[1], false));
  }

  release(request: ReleaseRequest): ReleaseAnswer {
    return this.run(RELEASE, request);
  }

  renew(request: RenewRequest): RenewAnswer {
    return this.run(RENEW, request);
  }

  downgrade(request: DowngradeRequest): RenewAnswer {
    return this.run(DOWNGRADE, request);
  }

  move(request: MoveRequest): MoveAnswer {
    return this.run(MOVE, request);
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

  private run<R extends LockName, A>(command: RuleCommand<R, A>, request: R, mark = ''): A {
    const reply = this.reply(command.rule(request), request.key, command.text(request, NO_DEADLINE) + mark);
    const [code, x, y] = reply;
    return expected(reply, command.meaning(request, code, x, y, false));
  }

  private reply(rule: RuleName, key: string, text: string): Replies {
    if (rule === 'semaphores') return this.call(runSemaphores, [key, ...NAMES.permits(key)], text);
    if (rule === 'locks') {
      const reply = this.call(runLocks, [key, NAMES.queue(key)], text);
      if (reply[0] !== DELEGATED) return reply;
    }
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

function expected<T>(reply: Replies, answer: T | undefined): T {
  if (answer === undefined)
    throw new Error(`A rule gave a reply with the code ${reply[0]} that its command does not have`);
  return answer;
}
