/** Executes one command of a process on the server of a state, as the transport of the kind does. */
import { DELEGATED, FREE as FREED, GRANTED } from '../../libs/distribute-lock/src/store/lua/generated/reply-codes.js';
import type { ScriptName } from '../../libs/distribute-lock/src/store/protocol/run-script.js';
import type { Server } from '../../libs/distribute-lock/src/store/protocol/server.js';
import type { Config } from './config.js';
import type { RunScript } from './load-rules.js';
import { ModelServer } from './model-server.js';
import type { Command, Names, State } from './state.js';

export type Reply = readonly [code: number, x: number | string, y: number | string];

export class Rules {
  readonly server: ModelServer;

  constructor(
    readonly config: Config,
    readonly names: Names,
    private readonly runScript: RunScript,
  ) {
    this.server = new ModelServer(names);
  }

  /** Changes the state; returns the reply. */
  execute(state: State, command: Command): Reply {
    this.server.state = state;
    this.server.messages = [];
    return this.executeOn(this.server, command, state.now);
  }

  executeOn(server: Server, command: Command, now: number): Reply {
    const script = this.scriptOf(command);
    const reply = this.run(server, script, command, now);
    return reply[0] === DELEGATED && script === 'lock' && this.config.kind === 'read-write'
      ? this.run(server, 'readwrite', command, now)
      : reply;
  }

  /** Writers of the last process use the script of exclusive locks first, which delegates commands to the other script. */
  private scriptOf({ op, slot }: Command): ScriptName {
    const { kind, processes, slots } = this.config;
    if (op === 'm') return 'multi-key';
    if (kind === 'semaphore') return 'semaphore';
    if (kind !== 'read-write') return 'lock';
    const isReader = slots[slot % slots.length].isReader;
    const isLast = this.names.processOfSlot(slot) === processes - 1;
    return isLast && !isReader && op !== 'g' && op !== 's' ? 'lock' : 'readwrite';
  }

  private run(server: Server, script: ScriptName, command: Command, now: number): Reply {
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
      case 'm':
        return `${ttlMs} ${deadline} ${token} ${tokens[next]}`;
      default:
        return `${op} ${token} ${ttlMs} 1 ${deadline}${op === 'a' && kind === 'exclusive' ? ' +' : ''}`;
    }
  }
}
