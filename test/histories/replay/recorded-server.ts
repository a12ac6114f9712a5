import { MemoryServer, ServerError } from '../../../libs/distribute-lock/src/store/memory/memory-server.js';
import type { Server } from '../../../libs/distribute-lock/src/store/protocol/server.js';
import type { DumpedKey } from './dump-keys.js';
import type { RecordedCall, Time } from './log-entries.js';

type Execute = (name: string, ...words: unknown[]) => unknown;

/** What the rules read from a server besides its keys. */
interface Surroundings {
  readonly nowMs: () => number;
  /** The replies to PUBLISH. */
  readonly messages: RecordedCall['messages'];
}

const NOTHING_ENDS: Surroundings = { nowMs: () => 0, messages: [] };

/** The keys of a server in memory. Calls on it get the clock and the receivers of messages that Redis has recorded. */
export class RecordedServer {
  private surroundings = NOTHING_ENDS;
  /** The messages of the present call, each with its command and channel. */
  sent: string[] = [];

  private constructor(private readonly keys: (server: RecordedServer) => MemoryServer) {
    this.memory = keys(this);
  }

  private readonly memory: MemoryServer;

  static empty(): RecordedServer {
    return new RecordedServer((server) => new MemoryServer(server.host()));
  }

  static of(keys: readonly DumpedKey[]): RecordedServer {
    return RecordedServer.empty().with([], keys);
  }

  clone(): RecordedServer {
    return new RecordedServer((server) => this.memory.clone(server.host()));
  }

  /** Deletes keys, and then adds others. */
  with(deleted: readonly string[], added: readonly DumpedKey[]): this {
    for (const key of deleted) this.memory.call('DEL', key);
    for (const [key, content, endsAt] of added) {
      if (typeof content === 'string') this.memory.call('SET', key, content);
      else for (let i = 0; i < content.length; i += 2) this.memory.call('ZADD', key, content[i + 1], content[i]);
      if (endsAt !== '-1') this.memory.call('PEXPIREAT', key, endsAt);
    }
    return this;
  }

  /** All keys that exist at that time. */
  dump(atMs: number): ReturnType<MemoryServer['dump']> {
    return this.under({ nowMs: () => atMs, messages: [] }, () => this.memory.dump());
  }

  /** Runs a command of a client. Throws if this server does not have the command. */
  execute(words: readonly string[], atMs: number): void {
    const call = this.memory.call as Execute;
    this.under({ nowMs: () => atMs, messages: [] }, () => call(words[0], ...words.slice(1)));
  }

  /** Runs the rules, which get `time` as the reply of TIME. */
  run<T>({ messages }: RecordedCall, time: Time, nowMs: () => number, rules: (server: Server) => T): T {
    const { call, pcall } = this.memory as { call: Execute; pcall: Execute };
    const timed =
      (execute: Execute): Execute =>
      (name, ...words) =>
        name === 'TIME' ? time : execute(name, ...words);
    const server = { call: timed(call), pcall: timed(pcall) } as Server;
    this.sent = [];
    return this.under({ nowMs, messages }, () => rules(server));
  }

  private under<T>(surroundings: Surroundings, action: () => T): T {
    this.surroundings = surroundings;
    try {
      return action();
    } finally {
      this.surroundings = NOTHING_ENDS;
    }
  }

  private host(): ConstructorParameters<typeof MemoryServer>[0] {
    return {
      nowMs: () => this.surroundings.nowMs(),
      publish: (channel, message) => this.publish(channel, message),
    };
  }

  /** One channel has the same number of receivers during a call. */
  private publish(channel: string, message: string): number {
    this.sent.push(`${channel} ${message}`);
    const found = this.surroundings.messages.find((recorded) => recorded[1] === channel);
    // A message that Redis did not send is reported later.
    if (found === undefined) return 0;
    const [, , , receivers] = found;
    if (typeof receivers === 'string') throw new ServerError(receivers);
    return receivers;
  }
}
