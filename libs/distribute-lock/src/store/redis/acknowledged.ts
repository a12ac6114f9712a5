import type { LuaText } from '../lua-script.js';
import { BUSY, GRANTED, NOT_REPLICATED, QUEUED, STILL_QUEUED } from '../protocol/reply-codes.js';
import { LockStoreError } from '../lock-store.js';
import { REPLY_WORDS } from './command.js';
import { isCluster, type RedisClient } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { isRedirection, unknownReply } from './redis-errors.js';
import { isCount } from '../reply-checks.js';

/** Number of replicas that must acknowledge a grant before it counts, and the time limit for them. */
export interface AckSettings {
  readonly replicas: number;
  readonly timeoutMs: number;
}

/** Maximum number of redirections to follow if the client does not follow them. */
const MOST_REDIRECTIONS = 3;
/** Time for which held calls wait for a connection, in addition to the limit of each call. */
const READY_LIMIT_MS = 1_000;

/** The script, keys and arguments of one call, as the server receives them. */
export interface ScriptArguments {
  readonly script: LuaText;
  readonly withText: boolean;
  readonly keys: readonly string[];
  readonly texts: readonly string[];
  /** The call, which fails at its limit. */
  readonly origin?: { readonly settled: boolean; sent: boolean } | undefined;
}

/** A call and the functions that settle its answer. */
interface DelayedCall {
  readonly call: ScriptArguments;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs scripts followed by `WAIT` on the same connection, because `WAIT` counts only the writes on that connection.
 * Marks the replies of calls whose writes too few replicas have.
 *
 * The server answers nothing on a connection while `WAIT` blocks. One `WAIT` is therefore in flight at a time, and the
 * calls that arrive in between share the next one. With one `WAIT` per call, a replica that takes 80 ms would limit the
 * process to twelve calls per second.
 */
export class Acknowledging {
  private delayed: DelayedCall[] = [];
  private underWay = false;

  constructor(
    private readonly connection: RedisConnection,
    private readonly settings: AckSettings,
  ) {}

  run(call: ScriptArguments): Promise<unknown> {
    // In a Cluster one client uses many connections, and calls for different nodes cannot share a `WAIT`.
    if (this.connection.clustered) return this.redirected(call);
    return new Promise((resolve, reject) => {
      this.delayed.push({ call, resolve, reject });
      if (!this.underWay) void this.sendDelayed();
    });
  }

  private async sendDelayed(): Promise<void> {
    this.underWay = true;
    while (this.delayed.length > 0) {
      // The connection may have been lost since the last call.
      const ready = await this.connection.whenReady(READY_LIMIT_MS).catch((error: Error) => error);
      const calls = this.take();
      if (ready instanceof Error) for (const { reject } of calls) reject(ready);
      else if (calls.length > 0) await this.send(calls);
    }
    this.underWay = false;
  }

  /** Takes the held calls. Calls that have already failed are not sent. */
  private take(): DelayedCall[] {
    const [wanted, unwanted]: [DelayedCall[], DelayedCall[]] = [[], []];
    for (const each of this.delayed) (each.call.origin?.settled === true ? unwanted : wanted).push(each);
    this.delayed = [];
    for (const { reject } of unwanted) reject(givenUp());
    return wanted;
  }

  private async send(calls: readonly DelayedCall[]): Promise<void> {
    try {
      const answers = await this.pipelined(calls.map(({ call }) => call));
      calls.forEach(({ resolve, reject }, i) => {
        if (answers[i] instanceof Error) reject(answers[i]);
        else resolve(answers[i]);
      });
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }

  /** Follows redirections itself, because the client follows only those of single commands. */
  private async redirected(call: ScriptArguments): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      const [answer] = await this.pipelined([call]);
      if (!(answer instanceof Error)) return answer;
      if (tries > MOST_REDIRECTIONS || !isRedirection(answer)) throw answer;
      await refreshed(this.connection.client);
    }
  }

  /** The answer to each call, or its error. */
  private async pipelined(calls: readonly ScriptArguments[]): Promise<unknown[]> {
    const { replicas, timeoutMs } = this.settings;
    const { epoch, client } = this.connection;
    const pipeline = client.pipeline();
    for (const { script, withText, keys, texts, origin } of calls) {
      if (origin !== undefined) origin.sent = true;
      if (withText) pipeline.eval(script.lua, keys.length, ...keys, ...texts);
      else pipeline.evalsha(script.sha1, keys.length, ...keys, ...texts);
    }
    pipeline.wait(replicas, timeoutMs);
    const results = (await pipeline.exec()) ?? [];
    const [waitError, count] = results[calls.length] ?? [null, undefined];
    if (results.length !== calls.length + 1) throw unknownReply(results);
    return calls.map(({ texts }, i) => {
      const [error, reply] = results[i];
      if (error === null && waitError === null && !isCount(Number(count))) return unknownReply(count);
      if (error !== null || waitError !== null) return error ?? waitError;
      // On a new connection `WAIT` has no writes to wait for, so its count proves nothing.
      if (this.connection.epoch !== epoch) return connectionChanged();
      return Number(count) < replicas ? marked(reply, texts.length, Number(count)) : reply;
    });
  }
}

const givenUp = (): Error => new LockStoreError('The call was cancelled before it was sent.', true, { sent: false });
const connectionChanged = (): Error =>
  new LockStoreError('The connection was lost before the replicas were counted.', true);

/**
 * Replies that depend on the replicas. The owner in front of a refused or queued attempt may be another attempt that no
 * replica has acknowledged.
 */
const DEPENDENT: readonly unknown[] = [GRANTED, BUSY, QUEUED, STILL_QUEUED];

function marked(replies: unknown, commands: number, count: number): unknown {
  if (typeof replies === 'number') return Array.from({ length: commands }, () => [NOT_REPLICATED, count, 0]).flat();
  if (!Array.isArray(replies)) return replies;
  const words: unknown[] = [...replies];
  for (let at = 0; at < words.length; at += REPLY_WORDS) {
    if (DEPENDENT.includes(words[at])) words.splice(at, 2, NOT_REPLICATED, count);
  }
  return words;
}

function refreshed(client: RedisClient): Promise<void> {
  return new Promise((resolve) => {
    if (isCluster(client)) client.refreshSlotsCache(() => resolve());
    else resolve();
  });
}
