/** Executes one command of a process on the server of a state, as the transport of the kind does. */
import { DELEGATED, FREE as FREED, GRANTED } from '../../libs/distribute-lock/src/store/protocol/reply-codes.js';
import type { RunScript, ScriptName } from '../support/run-script.js';
import { MemoryServer } from '../../libs/distribute-lock/src/store/memory/memory-server.js';
import type { Config } from './config.js';
import { NO_SCORES, NONE, type Command, type Entry, type Names, type State } from './state.js';

export type Reply = readonly [code: number, x: number | string, y: number | string];

export class Rules {
  /** Messages of the last command, for the schedule. */
  messages: string[] = [];

  constructor(
    readonly config: Config,
    readonly names: Names,
    private readonly runScript: RunScript,
  ) {}

  /** Changes the state; returns the reply. */
  execute(state: State, command: Command): Reply {
    this.messages = [];
    const server = this.serverOf(state);
    const script = this.scriptOf(command);
    let reply = this.run(server, script, command, state.now);
    if (reply[0] === DELEGATED && script === 'lock' && this.config.kind === 'read-write') {
      reply = this.run(server, 'readwrite', command, state.now);
    }
    this.keep(state, server);
    return reply;
  }

  /** A server with the keys of the state. */
  private serverOf({ entries, now, subscribed }: State): MemoryServer {
    // No key ends while it is written.
    let present = 0;
    const publish = (channel: string, message: string): number => {
      this.messages.push(message);
      const process = this.names.processes.findIndex((id) => channel.endsWith(id.slice(0, 11)));
      return (subscribed >> process) & 1;
    };
    const server = new MemoryServer({ nowMs: () => present, publish });
    entries.forEach((entry, i) => {
      if (entry === undefined) return;
      const key = this.names.keys[i];
      if (entry.value !== undefined) server.call('SET', key, entry.value);
      entry.members.forEach((member, j) => server.call('ZADD', key, entry.scores[j], member));
      if (entry.endsAt !== Infinity) server.call('PEXPIREAT', key, entry.endsAt);
    });
    present = now;
    return server;
  }

  /** Writes the keys of a server into the state. A key that did not change, or has ended, keeps its entry. */
  private keep(state: State, server: MemoryServer): void {
    const before = state.entries;
    state.entries = before.map((entry) => (entry !== undefined && entry.endsAt < state.now ? entry : undefined));
    for (const [key, content, endsAt = Infinity] of server.dump()) {
      const isText = typeof content === 'string';
      const entry: Entry = {
        value: isText ? content : undefined,
        members: isText ? NONE : content.filter((_, i) => i % 2 === 0),
        scores: isText ? NO_SCORES : content.filter((_, i) => i % 2 === 1).map(Number),
        endsAt,
      };
      const index = this.names.keyIndex(key);
      state.entries[index] = isSame(before[index], entry) ? before[index] : entry;
    }
  }

  /** Writers of the last process use the script of exclusive locks first, which delegates commands to the other script. */
  private scriptOf({ op, slot }: Command): ScriptName {
    const { kind, processes, slots } = this.config;
    if (op === 'm') return 'multi-key';
    if (kind === 'semaphore') return 'semaphore';
    if (op === 't') return 'readwrite';
    if (kind !== 'read-write') return 'lock';
    const isReader = slots[slot % slots.length].isReader;
    const isLast = this.names.processOfSlot(slot) === processes - 1;
    return isLast && !isReader && op !== 'g' && op !== 's' ? 'lock' : 'readwrite';
  }

  private run(server: MemoryServer, script: ScriptName, command: Command, now: number): Reply {
    const { keys } = this.names;
    const { slots } = this.config;
    const at = 1 + 4 * slots[command.slot % slots.length].lock;
    const width = script === 'lock' ? 2 : 4;
    let used = command.op === 'm' ? [keys[1], keys[2], keys[5], keys[6]] : keys.slice(at, at + width);
    if (script === 'semaphore') used = [keys[at], keys[at + 2], keys[at + 1], keys[at + 3]];
    const reply = this.runScript(server, script, [keys[0], ...used], [this.textOf(command, now)]);
    if (typeof reply !== 'number') return reply as unknown as Reply;
    return reply === 0 ? [FREED, 0, 0] : [GRANTED, reply, 0];
  }

  textOf({ op, slot, next, age }: Command, now: number): string {
    const { ttlMs, durations, kind } = this.config;
    const { tokens } = this.names;
    const token = tokens[slot];
    const deadline = now - age + durations.EXECUTION_LIMIT_MS;
    switch (op) {
      case 'd':
        return `d ${token}`;
      case 'n':
        return `n ${token} ${ttlMs}`;
      case 'e':
        return `n ${token} 1 =`;
      case 'r':
        return `r ${token} ${next < 0 ? '-' : tokens[next]} ${ttlMs} 1 ${deadline}`;
      case 'g':
        return `g ${token} ${ttlMs} ${tokens[next]}`;
      case 't':
        return `m ${token} ${this.names.isDetached(next) ? this.config.detachedMs : ttlMs} ${tokens[next]} ${deadline}`;
      case 'm':
        return `${ttlMs} ${deadline} ${token} ${tokens[next]}`;
      default:
        return `${op} ${token} ${ttlMs} 1 ${deadline}${op === 'a' && kind === 'exclusive' ? ' +' : ''}`;
    }
  }
}

function isSame(one: Entry | undefined, other: Entry): boolean {
  if (one === undefined || one.value !== other.value || one.endsAt !== other.endsAt) return false;
  if (one.members.length !== other.members.length) return false;
  // Scores of ended leases are equal in a state, so their order may differ from that of the server.
  return one.members.every((member, i) => other.scores[other.members.indexOf(member)] === one.scores[i]);
}

/** The slot of the ticket as which a process detaches the lease of a slot. */
export const ticketOf = ({ config: { processes, slots } }: Rules, slot: number): number =>
  processes * slots.length + (slot % slots.length);
