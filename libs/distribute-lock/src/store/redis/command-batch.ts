import { lockScript } from '../../scripts/generated/lua-scripts.js';
import type { Clock } from '../../runtime/clock.js';
import { Timed, type TimerLanes } from '../../runtime/timer-lanes.js';
import { LockStoreError } from '../lock-store.js';
import { CLAIM_WINDOW_MS, QUEUE_TTL_MS } from '../protocol.js';
import type { RedisConnection } from './redis-connection.js';
import { answerError, messageOf, storeError } from './redis-errors.js';

/** How long an answer may take. Neither an option of the client nor the system's time-outs bound it well. */
export const COMMAND_LIMIT_MS = 800;
/** Commands of one call of the script: it must not keep the server from others for long. */
const MOST_COMMANDS = 128;
const WORDS_BEFORE = 3;

/** Code and two words of the script's answer; see `lock.lua`. */
export type Reply = readonly [code: number, x: number | string, y: number | string];

interface Command {
  readonly lockKey: string;
  readonly queueKey: string;
  readonly words: readonly (string | number)[];
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/** Commands that wait for the same answer. */
class Call extends Timed {
  settled = false;

  constructor(
    readonly commands: readonly Command[],
    private readonly late: (call: Call) => void,
  ) {
    super();
  }

  due(): void {
    this.late(this);
  }

  reject(error: Error): void {
    if (this.settled) return;
    this.settled = true;
    for (const command of this.commands) command.reject(error);
  }
}

/**
 * Sends the commands of one tick in one call of the script. Measured against one call each, it costs a third of the client's
 * time at 128 commands, and nothing when a command is alone.
 */
export class CommandBatch {
  private commands: Command[] = [];

  constructor(
    private readonly connection: RedisConnection,
    private readonly fenceKey: string,
    private readonly clock: Clock,
    private readonly lanes: TimerLanes,
  ) {}

  run(lockKey: string, queueKey: string, words: readonly (string | number)[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.commands.push({ lockKey, queueKey, words, resolve, reject });
      // After all promises of this tick, so that callers woken by one answer leave together.
      if (this.commands.length === 1) process.nextTick(() => this.flush());
    });
  }

  /** Proves that the server runs the script. */
  async probe(): Promise<void> {
    await this.evaluate([this.fenceKey], []);
  }

  private flush(): void {
    const { commands } = this;
    this.commands = [];
    for (let from = 0; from < commands.length; from += MOST_COMMANDS) {
      const call = new Call(commands.slice(from, from + MOST_COMMANDS), (late) => this.late(late));
      this.lanes.add(call, COMMAND_LIMIT_MS);
      if (this.connection.ready) this.send(call);
      else this.sendWhenReady(call);
    }
  }

  /** Commands wait here for a connection, not in the client: those whose time is up are never sent. */
  private sendWhenReady(call: Call): void {
    this.connection.whenReady(COMMAND_LIMIT_MS).then(
      () => {
        if (!call.settled) this.send(call);
      },
      (error: Error) => this.end(call, error),
    );
  }

  private send(call: Call): void {
    const keys: string[] = [this.fenceKey];
    const words: (string | number)[] = [];
    for (const command of call.commands) {
      keys.push(command.lockKey, command.queueKey);
      for (const word of command.words) words.push(word);
    }
    this.evaluate(keys, words).then(
      (replies) => this.answered(call, replies),
      (error: unknown) => this.failed(call, error),
    );
  }

  private async evaluate(keys: string[], words: (string | number)[]): Promise<unknown[]> {
    const { client } = this.connection;
    const args = [...keys, CLAIM_WINDOW_MS, QUEUE_TTL_MS, 1, ...words];
    try {
      return (await client.evalsha(lockScript.sha1, keys.length, ...args)) as unknown[];
    } catch (error) {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
      return (await client.eval(lockScript.lua, keys.length, ...args)) as unknown[];
    }
  }

  private answered(call: Call, replies: unknown[]): void {
    this.lanes.remove(call);
    if (call.settled) return;
    call.settled = true;
    call.commands.forEach(({ resolve, reject }, i) => {
      const at = i * WORDS_BEFORE;
      const code = Number(replies[at]);
      if (code === REFUSED) reject(answerError(String(replies[at + 1])));
      else resolve([code, replies[at + 1] as number | string, replies[at + 2] as number | string]);
    });
  }

  private failed(call: Call, error: unknown): void {
    // The server checks the rights for all keys of a call at once: one forbidden key must not fail the others.
    if (call.commands.length > 1 && !call.settled && messageOf(error).startsWith('NOPERM')) {
      call.settled = true;
      this.lanes.remove(call);
      for (const command of call.commands) {
        const single = new Call([command], (late) => this.late(late));
        this.lanes.add(single, COMMAND_LIMIT_MS);
        this.send(single);
      }
    } else this.end(call, storeError(error));
  }

  private end(call: Call, error: Error): void {
    this.lanes.remove(call);
    call.reject(error);
  }

  /** A blocked event loop is not a mute server: answers that have arrived get a turn of the loop first. */
  private late(call: Call): void {
    this.clock.nextTurn(() =>
      call.reject(
        new LockStoreError(`Redis did not answer within ${COMMAND_LIMIT_MS} ms${this.connection.trouble}.`, true),
      ),
    );
  }
}

const REFUSED = 9;
