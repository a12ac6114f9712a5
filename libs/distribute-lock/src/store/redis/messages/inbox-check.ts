import { randomUUID } from 'node:crypto';

import { Timer } from '../../../runtime/timers.js';
import { LockStoreError } from '../../lock-store.js';
import { checkInboxScript } from '../../generated/lua-scripts.js';
import { addressOf } from '../redis-client.js';
import type { RedisConnection } from '../redis-connection.js';
import { redacted } from '../redis-errors.js';
import type { Subscriber, Subscription } from './subscription.js';

/** Interval of the checks while callers wait. It is the heartbeat of a waiter; see `engine/heartbeat.ts`. */
const INTERVAL_MS = 1_300;
/**
 * Interval after a message has arrived. A failover that leaves connections open replaces the connection for commands, which
 * causes a check at once. A lock that is granted without its message causes checks at the short interval.
 */
const ARRIVED_INTERVAL_MS = 5 * INTERVAL_MS;
/** Longest pause between two renewals of a subscription that do not help. */
const LONGEST_PAUSE_MS = 10_000;
/** Consecutive messages without an arrival before the subscription is renewed, and before the operator is notified. */
const MISSED_BEFORE_RENEWAL = 2;
const MISSED_BEFORE_REPORT = 4;

/** Refusals of an ACL, by version of the server. */
const MISSING_PERMISSION = /NOPERM|ACL failure|no permissions|can't (run|access)/i;

/** The channels of a process. */
export interface CheckedInbox {
  readonly channel: string;
  /** Its channel in the slot of a lock. */
  readonly shardChannel: (lockKey: string) => string;
  /** The rule of an ACL for the channels of all processes. */
  readonly rule: string;
}

/** One published message. */
interface Sent {
  readonly text: string;
  arrived: boolean;
  /** Receivers that the server counted; `undefined` without an answer. */
  receivers: number | undefined;
}

/**
 * Verifies that the messages of a process arrive, because neither SUBSCRIBE nor an open connection proves it. While
 * callers wait, the process publishes a message to its own inbox once per heartbeat, on the server of their lock; after a
 * message has arrived, in every fifth heartbeat.
 *
 * - The server refuses the message: waiters poll, and the operator is notified of the missing permission.
 * - The server counts no receiver: the subscription is on another server, which a planned failover has made a replica.
 *   The process subscribes again on a new connection.
 * - The message does not arrive: the process subscribes again, and waiters poll if that does not help.
 *
 * The count decides about the subscription only, never about a lock.
 */
export class InboxCheck extends Timer implements Subscriber {
  readonly subscription: Subscription;
  /** Only this process knows how its messages begin. */
  private readonly mark = `i ${randomUUID()} `;
  private lockKey = '';
  /** A caller has waited since the last check. */
  private needed = false;
  private checkedAt = -Infinity;
  private intervalMs = INTERVAL_MS;
  /** Epoch of the connection for commands when a caller waited last. */
  private epoch = -1;
  private messages = 0;
  private last: Sent | undefined;
  private missed = 0;
  /** A lock was granted without its message since the last check. */
  private suspected = false;
  private pauseMs = INTERVAL_MS;
  private renewableAt = -Infinity;
  /** Why messages do not arrive, although the server has confirmed the subscription. */
  private trouble: Error | undefined;

  constructor(
    private readonly connection: RedisConnection,
    private readonly inbox: CheckedInbox,
    private readonly subscriber: Subscriber,
    subscribe: (subscriber: Subscriber) => Subscription,
  ) {
    super();
    this.subscription = subscribe(this);
  }

  /** A caller waits for the lock in Redis. Its heartbeat repeats this. */
  waitFor(lockKey: string): void {
    // A server that refused a message is asked until it accepts one.
    if (this.trouble === undefined) this.lockKey = lockKey;
    this.needed = true;
    const { clock, epoch, timers } = this.connection;
    if (this.isScheduled && epoch === this.epoch) return;
    const now = clock.now();
    // A new connection for commands may lead to another server, so its check is not delayed.
    timers.add(this, epoch === this.epoch ? Math.max(0, this.checkedAt + this.intervalMs - now) : 0, now);
    this.epoch = epoch;
  }

  /** A lock was granted without its message. */
  messageMissed(): void {
    this.subscription.messageMissed();
    const { clock, timers } = this.connection;
    this.suspected = true;
    const now = clock.now();
    if (this.isScheduled) timers.add(this, Math.max(0, this.checkedAt + INTERVAL_MS - now), now);
  }

  close(): void {
    this.connection.timers.remove(this);
    this.subscription.close();
  }

  message(text: string): void {
    if (!text.startsWith(this.mark)) return this.subscriber.message(text);
    if (text !== this.last?.text) return;
    this.last.arrived = true;
    this.missed = 0;
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.subscriber.resubscribed();
  }

  unsubscribed(): void {
    this.last = undefined;
    if (this.trouble === undefined) this.subscriber.unsubscribed();
  }

  resubscribed(): void {
    if (this.trouble === undefined) this.subscriber.resubscribed();
  }

  due(): void {
    if (!this.needed) return;
    const { clock, timers } = this.connection;
    this.needed = false;
    this.checkedAt = clock.now();
    // Messages that have already arrived are processed first.
    clock.nextTurn(() => {
      this.judge();
      timers.add(this, this.intervalMs, this.checkedAt);
      void this.check();
    });
  }

  /** Judges the message of the previous check. */
  private judge(): void {
    const { last } = this;
    this.last = undefined;
    const works = last?.arrived === true && last.receivers !== undefined && last.receivers !== 0;
    this.intervalMs = works && !this.suspected ? ARRIVED_INTERVAL_MS : INTERVAL_MS;
    this.suspected = false;
    if (works) this.pauseMs = INTERVAL_MS;
    if (last?.receivers === undefined || last.arrived) return;
    this.missed += 1;
    if (this.missed >= MISSED_BEFORE_REPORT)
      this.fail('no message arrives, although the server accepts SUBSCRIBE and PUBLISH.');
    if (this.missed >= MISSED_BEFORE_RENEWAL) this.renew();
    else this.subscription.messageMissed();
  }

  private async check(): Promise<void> {
    const { connection, lockKey } = this;
    if (!this.subscription.live || !connection.accepts(lockKey)) return;
    const sent: Sent = { text: `${this.mark}${(this.messages += 1)}`, arrived: false, receivers: undefined };
    this.last = sent;
    const reply = connection.client.eval(checkInboxScript.lua, 1, lockKey, sent.text, ...this.channelsOf(lockKey));
    void connection.linkOf(lockKey)?.track(reply);
    // The commands of locks report an error of the script or of the connection.
    const receivers: unknown = await reply.catch(() => undefined);
    if (this.last !== sent) return;
    if (typeof receivers === 'string') this.refused(receivers);
    else if (typeof receivers === 'number') this.counted(sent, receivers);
  }

  /** The channels that a release uses for the lock. A plain message would reach every node of a large Cluster. */
  private channelsOf(lockKey: string): string[] {
    const { channel, shardChannel } = this.inbox;
    return this.connection.sharded ? [channel, shardChannel(lockKey)] : [channel];
  }

  private refused(text: string): void {
    const advice = MISSING_PERMISSION.test(text) ? ` Grant the user "+publish" and "${this.inbox.rule}".` : '';
    const { client, clustered } = this.connection;
    const server = clustered ? this.connection.serverOf(this.lockKey) : addressOf(client);
    this.fail(`${server} refuses PUBLISH in a script: ${redacted(text)}.${advice}`);
  }

  private counted(sent: Sent, receivers: number): void {
    // A node of a Cluster counts its own subscribers only.
    const counts = !this.connection.bySlot;
    sent.receivers = counts ? receivers : -1;
    if (sent.receivers === 0) this.renew();
  }

  /** Waiters poll until a message arrives. */
  private fail(reason: string): void {
    if (this.trouble !== undefined) return;
    this.trouble = new LockStoreError(reason, true);
    this.subscriber.unsubscribed(this.trouble);
  }

  /** Subscribes again. A server whose count is always 0 costs few renewals. */
  private renew(): void {
    const now = this.connection.clock.now();
    if (now < this.renewableAt) return;
    this.renewableAt = now + this.pauseMs;
    this.pauseMs = Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS);
    this.subscription.renew();
  }
}
