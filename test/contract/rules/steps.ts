import {
  CLAIM_WINDOW_MS,
  FENCE_TTL_MS,
  QUEUE_TTL_MS,
  SHORT_OFFER_MS,
} from '../../../libs/distribute-lock/src/store/protocol.js';
import type { ScriptName } from '../../support/run-script.js';
import { RedisKeys } from '../../../libs/distribute-lock/src/store/redis/redis-keys.js';
import type { Random } from '../../simulation/random.js';

/** One step of a sequence. Names of keys are those of the prefix `PREFIX`. */
export type Step =
  | { readonly script: ScriptName; readonly keys: readonly string[]; readonly args: readonly string[] }
  | { readonly advanceMs: number }
  /** A command of a foreign client. */
  | { readonly foreign: readonly (string | number)[] }
  /** Number of receivers of each inbox; -1: the server refuses the message. */
  | { readonly receivers: Readonly<Record<string, number>> };

const PREFIX = 'one:';
const names = new RedisKeys(PREFIX);
const KEYS = ['a', 'b'];
const PROCESSES = ['A', 'B', 'C'].map((letter) => letter.repeat(22));
const INBOXES = PROCESSES.map((process) => process.slice(0, 11));
const FOREIGN = ['x', 'somebody:1', 'readers', 'semaphore:3', `${'A'.repeat(23)}:1`, `${'A'.repeat(22)}:1:two`];
const COUNTERS = ['0', '1.5', '-3', 'abc', '12~9999999999999', '99~1', '~5', '5000000000000000', '9007199250000000'];

export interface Layout {
  /** Whether each lock has a counter of fencing tokens, as in a Cluster. */
  readonly bySlot: boolean;
}

/** All keys that the steps use. */
function keysOfSteps(): string[] {
  const locks = [...KEYS.map((key) => names.lock(key)), QUORUM_LOCK];
  const helpers = locks.map((lock) => [
    [lock, names.queue(lock), names.readers(lock), names.gate(lock), names.fenceOf(lock)],
    names.permits(lock),
  ]);
  return [...helpers.flat(2), names.fence, names.members, TICKET];
}

const TICKET = names.ticket('hash');
const QUORUM_LOCK = names.lock('quorum');
const DAYS = 1_764_000_000_000;

/** Draws sequences of steps, with commands of all kinds, foreign values, late and repeated commands, and silence. */
export class Steps {
  /** Virtual time in whole milliseconds, as far as the steps have moved it. */
  private nowMs = DAYS;
  private readonly scripts: readonly ScriptName[];
  /** The token of the last acquire. */
  private readonly recent = new Map<ScriptName, string>();

  constructor(
    private readonly random: Random,
    private readonly layout: Layout,
    only?: ScriptName,
  ) {
    // Most sequences have one or two kinds, so that their states become deep.
    const all: ScriptName[] = [
      ...(['lock', 'readwrite', 'semaphore', 'multi-key'] as const),
      ...(['quorum', 'members', 'mark-counter', 'delete-foreign', 'mark-ticket'] as const),
    ];
    this.scripts = only === undefined || random.chance(0.2) ? all : [only, only, random.pick(all), only];
  }

  sequence(length: number): { readonly startMs: number; readonly micros: number; readonly steps: readonly Step[] } {
    const steps: Step[] = [{ receivers: this.receivers() }];
    while (steps.length < length) steps.push(this.step());
    return { startMs: DAYS, micros: this.random.int(0, 999), steps };
  }

  private step(): Step {
    const { random } = this;
    const dice = random.next();
    if (dice < 0.1) return this.advance();
    if (dice < 0.13) return { receivers: this.receivers() };
    if (dice < 0.17) return { foreign: this.foreign() };
    const script = random.pick(this.scripts);
    if (script === 'quorum') return this.quorum();
    if (script === 'multi-key') return this.multiKey();
    if (script === 'members') return this.members();
    if (script === 'mark-counter') return { script, keys: [names.fence], args: [String(random.pick([1, 30_000]))] };
    if (script === 'delete-foreign') return this.deleteForeign();
    if (script === 'mark-ticket') return { script, keys: [TICKET], args: [random.pick(['u', 'r'])] };
    const most = this.layout.bySlot ? 1 : 3;
    // A call without commands verifies that the server runs the script.
    const count = random.chance(0.01) ? 0 : random.chance(0.7) ? 1 : random.int(1, most);
    const locks = Array.from({ length: count }, () => names.lock(random.chance(0.75) ? KEYS[0] : KEYS[1]));
    const [first = names.lock(KEYS[0])] = locks;
    return {
      script,
      keys: [this.layout.bySlot ? names.fenceOf(first) : names.fence, ...locks.flatMap((lock) => keysOf(script, lock))],
      args: locks.map(() => this.command(script)),
    };
  }

  private advance(): Step {
    const { random } = this;
    const steps = [1, 50, SHORT_OFFER_MS, 500, CLAIM_WINDOW_MS, 3_000, QUEUE_TTL_MS, 30_000, FENCE_TTL_MS];
    const advanceMs = random.pick(steps) + random.int(-1, 1);
    this.nowMs += advanceMs;
    return { advanceMs };
  }

  private receivers(): Record<string, number> {
    return Object.fromEntries(
      INBOXES.map((inbox) => [inbox, this.random.chance(0.7) ? 1 : this.random.pick([0, 0, 2, -1])]),
    );
  }

  private foreign(): string[] {
    const { random } = this;
    const lock = names.lock(random.pick(KEYS));
    const dice = random.next();
    if (dice < 0.3) return ['DEL', lock];
    if (dice < 0.5) return ['SET', lock, random.pick(FOREIGN)];
    if (dice < 0.65) return ['SET', lock, random.pick(FOREIGN), 'PX', '4000'];
    if (dice < 0.75) return this.counter(lock);
    if (dice < 0.8) return ['DEL', this.layout.bySlot ? names.fenceOf(lock) : names.fence];
    if (dice < 0.82) return ['SET', random.pick(keysOfSteps()), 'text'];
    // The value of a gate is the only number that the rules store as text, beside counters.
    if (dice < 0.84) return ['SET', names.gate(lock), 'text'];
    if (dice < 0.85) return ['SET', TICKET, '{}', 'PX', '4000'];
    if (dice < 0.88) return ['DEL', names.readers(lock), names.permits(lock)[0]];
    if (dice < 0.92) return ['ZADD', names.queue(lock), '7.25', random.pick(FOREIGN)];
    if (dice < 0.96) return ['ZADD', names.permits(lock)[1], '7', random.pick(FOREIGN)];
    return ['DEL', random.pick(keysOfSteps())];
  }

  private deleteForeign(): Step {
    const lock = names.lock(this.random.pick(KEYS));
    const keys = [lock, names.readers(lock), names.permits(lock)[0]];
    return { script: 'delete-foreign', keys, args: [this.random.pick(FOREIGN)] };
  }

  private counter(lock: string): string[] {
    return ['SET', this.layout.bySlot ? names.fenceOf(lock) : names.fence, this.random.pick(COUNTERS)];
  }

  private token(script: ScriptName): string {
    const { random } = this;
    const token = `${random.pick(PROCESSES)}:${random.int(1, 3)}`;
    if (script === 'readwrite' && random.chance(0.6)) return `${token}:r`;
    if (script === 'semaphore') return `${token}P${random.pick([2, 3, 3, 3])}:${random.pick([1, 1, 1, 2, 4])}`;
    return token;
  }

  private deadline(): string {
    const { random } = this;
    if (random.chance(0.6)) return '0';
    return String(this.nowMs + (random.chance(0.8) ? random.int(1, 2_000) : -random.int(0, 50)));
  }

  private command(script: ScriptName): string {
    const { random } = this;
    const dice = random.next();
    // Half of the later commands are those of a token that is likely to hold or to wait.
    const known = dice < 0.5 || random.chance(0.5) ? undefined : this.recent.get(script);
    const token = known ?? this.token(script);
    if (dice < 0.5) this.recent.set(script, token);
    const ttlMs = random.pick([1, 140, 1_700, 1_800, 20_000, 20_000, 60_000]);
    const block = random.pick([1, 1, 16, 64]);
    const raised = script === 'lock' && random.chance(0.3) ? ' +' : '';
    if (dice < 0.5) return `${random.pick(['a', 'w', 'w'])} ${token} ${ttlMs} ${block} ${this.deadline()}${raised}`;
    if (dice < 0.66) return `d ${token}`;
    if (dice < 0.8) return `r ${token} ${this.next(script, token)} ${ttlMs} ${block} ${this.deadline()}`;
    if (dice < 0.84 && script !== 'lock') {
      // The tokens of one semaphore have the same permits and weight, as the process that moves a lease knows them.
      const to = token.replace(/:\d/, `:${random.int(0, 3)}`).replace(/^.{22}/, random.pick(PROCESSES));
      return `m ${token.replace(/:r$/, '')} ${ttlMs} ${to.replace(/:r$/, '')} ${this.deadline()}`;
    }
    if (dice < 0.9 || script !== 'readwrite') return `n ${token} ${ttlMs}${random.chance(0.3) ? ' =' : ''}`;
    if (dice < 0.96) return `g ${random.pick(PROCESSES)}:${random.int(1, 3)} ${ttlMs} ${token.replace(/:r$/, '')}:r`;
    return `s ${random.pick(PROCESSES)}:${random.int(1, 3)} ${ttlMs} ${block} ${this.deadline()}`;
  }

  /** The next attempt is a token of the same process and kind. */
  private next(script: ScriptName, token: string): string {
    if (script !== 'semaphore' && this.random.chance(0.4)) return '-';
    return token.replace(/:\d/, `:${this.random.int(1, 4)}`);
  }

  private multiKey(): Step {
    const { random, layout } = this;
    const groups = Array.from({ length: layout.bySlot ? 1 : random.int(1, 2) }, () =>
      random.chance(0.5) ? KEYS : [random.pick(KEYS)],
    );
    const keys = groups.flat().flatMap((key) => {
      const lock = names.lock(key);
      return layout.bySlot ? [lock, names.queue(lock), names.fenceOf(lock)] : [lock, names.queue(lock)];
    });
    return {
      script: 'multi-key',
      keys: [layout.bySlot ? names.fenceOf(names.lock(groups[0][0])) : names.fence, ...keys],
      args: groups.map((group) =>
        [random.pick([150, 20_000]), this.deadline(), ...group.map(() => this.token('lock'))].join(' '),
      ),
    };
  }

  private members(): Step {
    const { random } = this;
    const id = (): string => `node-${random.int(1, 5)}`;
    const others = Array.from({ length: random.int(0, 4) }, id);
    const args = [random.pick(['3', '3', '3', '5']), random.pick(['2000', '30000']), random.pick(['0', '1']), id()];
    return { script: 'members', keys: [names.members], args: [...args, ...others] };
  }

  private quorum(): Step {
    const { random } = this;
    const command = random.pick(['a', 'w', 'w', 'd', 'd', 'n', 'l', 'f']);
    const owner = this.token('lock');
    const token = random.chance(0.7) ? owner : this.token('lock');
    const first = this.nowMs * 1_000 + random.int(-2_000_000, 2_000_000);
    const ttlMs = String(random.pick([150, 2_000, 20_000]));
    const words: Record<string, string[]> = {
      a: [ttlMs, String(random.pick([1, 16])), this.deadline()],
      w: [ttlMs, String(random.pick([1, 16])), this.deadline()],
      d: [random.pick(['0', '1']), random.pick(['-', owner, this.token('lock')]), this.deadline()],
      n: [ttlMs, random.pick(['0', String(first)])],
      l: [ttlMs, random.pick(['0', String(first)])],
      f: [String(first), String(first + 15)],
    };
    return {
      script: 'quorum',
      keys: [QUORUM_LOCK, names.queue(QUORUM_LOCK), names.fenceOf(QUORUM_LOCK)],
      args: [command, token, owner, ...words[command]],
    };
  }
}

function keysOf(script: ScriptName, lock: string): string[] {
  if (script === 'lock') return [lock, names.queue(lock)];
  if (script === 'readwrite') return [lock, names.queue(lock), names.readers(lock), names.gate(lock)];
  return [lock, ...names.permits(lock)];
}
