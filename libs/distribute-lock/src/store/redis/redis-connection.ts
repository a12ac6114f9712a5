import type { Redis } from 'ioredis';

import type { CancelTimer, Clock } from '../../runtime/clock.js';
import { LockStoreError } from '../lock-store.js';
import type { Acknowledging, ScriptCall } from './acknowledged.js';
import { givesNumbersAsText, withNumbers } from './numbers-as-text.js';
import { expectMoreErrors, isCluster, isEnded, isReady, placeOf, stateOf, type RedisClient } from './redis-client.js';
import { messageOf, redacted, storeError } from './redis-errors.js';
import { SentinelWatch } from './sentinel-watch.js';

/** How long a connection may be mute. */
export const SILENCE_MS = 2_500;

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly cancel: CancelTimer;
}

/** One client and the state of its connection. */
export class RedisConnection {
  /** Rises whenever the connection was lost: an answer is certain only if it came on the connection of its command. */
  epoch = 0;
  /** Whether it is to a whole Cluster: a call of a script may then have keys of one slot only. */
  readonly clustered: boolean = false;
  /** Where its answers wait for replicas. */
  acknowledging: Acknowledging | undefined;
  private lastError: string | undefined;
  private readonly watch: SentinelWatch | undefined;
  private readonly waiting = new Set<Waiting>();
  private readonly handlers: readonly (readonly [string, (error: Error) => void])[];

  constructor(
    readonly client: RedisClient,
    /** Opened by us, so closed by us. */
    readonly owned: boolean,
    protected readonly clock: Clock,
  ) {
    this.handlers = [
      ['ready', () => this.becameReady()],
      ['close', () => (this.epoch += 1)],
      ['end', () => this.rejectWaiting()],
      // Without a listener the client writes every error to the console. A client that was given has its owner's listeners.
      ...(owned ? [['error', (error: Error) => this.failed(error)] as const] : []),
    ];
    for (const [event, handler] of this.handlers) client.on(event, handler);
    if (owned && !isCluster(client) && client.options.sentinels) {
      this.watch = new SentinelWatch(client.options, (place) => {
        if (this.ready && place !== placeOf(client)) this.demoted();
      });
    }
  }

  get ready(): boolean {
    return isReady(this.client);
  }

  /** What went wrong last, for messages. */
  get trouble(): string {
    return this.ready || this.lastError === undefined ? '' : ` (${this.lastError})`;
  }

  /** Rejects with what is known of the trouble when the connection does not come within the limit. */
  whenReady(limitMs: number): Promise<void> {
    if (this.ready) return Promise.resolve();
    if (isEnded(this.client)) return Promise.reject(this.ended());
    if (this.client.status === 'wait') this.client.connect().catch((error: Error) => this.failed(error));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        resolve,
        reject,
        cancel: this.clock.after(limitMs, () => {
          this.waiting.delete(waiting);
          const state = this.trouble || ` (${stateOf(this.client)})`;
          reject(new LockStoreError(`Redis is not connected${state}.`, true, { sent: false }));
        }),
      };
      this.waiting.add(waiting);
    });
  }

  /**
   * A command was not answered. A connection on which nothing comes back is given up: TCP itself would take minutes to notice,
   * and the client's own time-out costs a timer for each command.
   */
  silent(forMs: number): void {
    if (!this.owned || !this.ready || forMs < SILENCE_MS) return;
    (this.client as Redis).disconnect(true);
  }

  /** The server takes no writes any more, as after a failover: whoever asks for the primary anew finds another one. */
  demoted(): void {
    if (this.owned && this.ready) (this.client as Redis).disconnect(true);
  }

  /** Runs a script, named by its digest or, where the server does not know it, with its text. */
  evaluate(call: ScriptCall): Promise<unknown> {
    if (this.acknowledging !== undefined) return this.acknowledging.run(call);
    const { script, withText, keys, texts } = call;
    const answer = withText
      ? this.client.eval(script.lua, keys.length, ...keys, ...texts)
      : this.client.evalsha(script.sha1, keys.length, ...keys, ...texts);
    return givesNumbersAsText(this.client) ? answer.then(withNumbers) : answer;
  }

  /** What `send` sends leaves together. */
  together(send: () => void): void {
    send();
  }

  /** Stops listening; closes the client if it is ours. */
  close(): void {
    for (const [event, handler] of this.handlers) {
      if (event !== 'error') this.client.off(event, handler);
    }
    this.rejectWaiting();
    this.watch?.close();
    if (this.owned) this.client.disconnect();
  }

  private becameReady(): void {
    this.lastError = undefined;
    this.watch?.open();
    for (const { resolve, cancel } of this.take()) {
      cancel();
      resolve();
    }
  }

  private rejectWaiting(): void {
    for (const { reject, cancel } of this.take()) {
      cancel();
      reject(this.ended());
    }
  }

  protected failed(error: unknown): void {
    if (!isCluster(this.client)) expectMoreErrors(this.client);
    this.lastError = redacted(messageOf(error));
    const { passing } = storeError(error);
    if (passing) return;
    // A wrong password does not get better by waiting.
    for (const { reject, cancel } of this.take()) {
      cancel();
      reject(storeError(error));
    }
  }

  private take(): Waiting[] {
    const all = [...this.waiting];
    this.waiting.clear();
    return all;
  }

  private ended(): LockStoreError {
    return new LockStoreError(`The connection to Redis is closed${this.trouble}.`, false, { sent: false });
  }
}
