import type { Redis } from 'ioredis';

import type { Clock } from '../../runtime/clock.js';
import { Alarm, Timer, type Timers } from '../../runtime/timers.js';
import { guardSockets } from './guard-sockets.js';
import { ServerClock } from './server-clock.js';

/** Limit for a reply. Client options and system timeouts do not bound it well. */
export const COMMAND_LIMIT_MS = 800;
/** Limits of commands that are sent again are rounded up to this step, so that they share timers. */
export const LIMIT_STEP_MS = 100;
/** Limit for the first connection at the start. */
export const CONNECT_LIMIT_MS = 1_500;
/** A socket with a pending reply is closed when no byte has arrived for this time. */
const SILENCE_LIMIT_MS = 2_500;
/** Interval at which a link is examined while a reply is pending. */
const TICK_MS = 500;
/** ... and otherwise. The wake-ups of a process that only waits are most of its CPU. */
const RELAXED_TICK_MS = 1_000;
/** A tick that is later than this shows that the connection may have died silently in the meantime. */
const PAUSE_MS = 1_000;
/** Limit for a byte after such a pause. It leaves the first calls time to reach the server on a new connection. */
const AFTER_PAUSE_LIMIT_MS = 400;
/** A tick that is later than this shows that the process was suspended or blocked. */
const LATE_TICK_MS = 250;
/**
 * While waiters depend on messages, a link is probed after this time without a byte. It is longer than a heartbeat (1.3
 * s + 10 %): replies to heartbeats prove a connection that also carries commands, so it is never probed. A probe at
 * every tick would cost each waiting process 2 commands/s for a fault that this interval detects in time.
 */
const PROBE_WHILE_EXPECTED_MS = 1_500;
/** ... and without waiters. */
const PROBE_WHILE_IDLE_MS = 10_000;

/** Observes a link. */
export interface LinkListener {
  /** The link accepts writes: a new connection is ready, or an overdue reply has arrived. */
  usable?(link?: Link): void;
  /** The link accepts no writes: its connection was lost, or a reply is overdue. */
  unusable?(link?: Link): void;
}

/** Settings of a {@link Link}. */
export interface LinkSettings {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly listener: LinkListener;
  /** Called on each new connection; it is usable when the returned promise has settled. */
  readonly greet?: () => Promise<void> | undefined;
}

/**
 * One connection of the client and its health. The link records the last write that expects a reply and the last byte
 * received. Idle time is not silence: silence starts with the first unanswered write. A connection without a byte for
 * {@link SILENCE_LIMIT_MS} is closed, and the client opens another one.
 *
 * A new connection is usable after it has answered `TIME`, which proves that the server responds and sets
 * {@link serverClock}.
 */
export class Link extends Timer {
  readonly serverClock = new ServerClock();
  private readonly clock: Clock;
  private readonly timers: Timers;
  private readonly listener: LinkListener;
  private readonly greet: LinkSettings['greet'];
  /** Number of writes without a reply. */
  private unanswered = 0;
  /** Time of the oldest of these writes. */
  private unansweredSince = 0;
  private lastByteAt = -Infinity;
  private lastTickAt = -Infinity;
  private bytesRead: number | undefined = undefined;
  /** The connection is open, and its handshake is in progress. */
  private handshaking = false;
  private proven = false;
  private isOverdue = false;
  private closing = false;
  private usable = false;
  private ended = false;
  /** Time without a byte before a probe; `undefined` if no message is expected. */
  private probeAfterMs: number | undefined = undefined;
  /** Difference between the wall clock, which continues while the host is suspended, and the monotonic clock. */
  private dateOffset: number;
  /** Number of lost connections. */
  private connection = 0;
  private readonly handlers: Readonly<Record<string, () => void>> = {
    connect: () => this.connected(),
    ready: () => void this.prove(),
    close: () => this.lost(),
  };

  constructor(
    readonly client: Redis,
    { clock, timers, listener, greet }: LinkSettings,
  ) {
    super();
    this.clock = clock;
    this.timers = timers;
    this.listener = listener;
    this.greet = greet;
    for (const [event, handler] of Object.entries(this.handlers)) client.on(event, handler);
    // It stays after the end, because a late error must still have a listener.
    guardSockets(client);
    this.dateOffset = Date.now() - clock.now();
    this.schedule(RELAXED_TICK_MS);
    if (client.status === 'connect') this.connected();
    else if (client.status === 'ready') void this.prove();
  }

  /** Whether a write is sent now and its reply can be expected in time. */
  get accepts(): boolean {
    return this.usable && this.client.status === 'ready';
  }

  /** A reply is pending for {@link COMMAND_LIMIT_MS}, and no other byte has arrived. */
  get overdue(): boolean {
    return this.isOverdue || this.closing;
  }

  /** Counts a written command. */
  wrote(now = this.clock.now()): void {
    this.unanswered += 1;
    if (this.unanswered > 1) return;
    this.unansweredSince = now;
    this.tickSoon(now);
  }

  /** Counts a reply to a command. */
  answered(now = this.clock.now()): void {
    this.unanswered -= 1;
    this.lastByteAt = now;
    if (this.isOverdue) this.setOverdue(false);
  }

  /** Records a received message. */
  received(): void {
    this.lastByteAt = this.clock.now();
    if (this.isOverdue) this.setOverdue(false);
  }

  /** Counts a failed command: the client gave up, or the server replied with an error. */
  failed(error: unknown): void {
    if (isReply(error)) this.answered();
    else this.unanswered -= 1;
  }

  /** Checks for an overdue reply after a command reached its limit, possibly before the next tick. */
  late(): void {
    if (this.isOverdue || this.unanswered === 0) return;
    if (this.silentMs(this.clock.now()) >= COMMAND_LIMIT_MS) this.setOverdue(true);
  }

  track<T>(reply: Promise<T>): Promise<T> {
    this.wrote();
    reply.then(
      () => this.answered(),
      (error: unknown) => this.failed(error),
    );
    return reply;
  }

  /** Reads the server's clock periodically, in parallel with commands. */
  refreshClock(now: number): void {
    if (this.serverClock.refreshes(now)) void this.readClock();
  }

  /**
   * Reads the server's clock. Resolves to whether this connection replied; an error reply leaves the clock unknown.
   * Never rejects.
   */
  async readClock(): Promise<boolean> {
    if (this.client.status !== 'ready') return false;
    const { connection } = this;
    const sentAt = this.clock.now();
    try {
      // The client declares numbers but returns the text of the server.
      const [seconds, microseconds] = (await this.track(this.client.time())).map(Number);
      if (connection !== this.connection) return false;
      this.serverClock.observe(seconds * 1_000 + microseconds / 1_000, sentAt);
      return true;
    } catch (error) {
      return connection === this.connection && isReply(error);
    }
  }

  /** Writes a `PING`, whose reply is expected like that of any command. */
  probe(): void {
    if (this.client.status !== 'ready' || this.closing) return;
    this.track(this.client.ping()).catch(() => undefined);
  }

  /** Starts to watch a connection that carries messages. `expected` is true while waiters depend on them. */
  watchMessages(expected: boolean): void {
    this.probeAfterMs = expected ? PROBE_WHILE_EXPECTED_MS : PROBE_WHILE_IDLE_MS;
    if (expected) this.tickSoon(this.clock.now());
  }

  /**
   * Closes the socket once; the client opens another one. Pending replies are lost, but a dead socket delivers none.
   */
  close(): void {
    const { stream } = this.client as { readonly stream?: Redis['stream'] };
    if (this.closing || stream === undefined || stream === null || stream.destroyed) return;
    this.closing = true;
    this.update();
    stream.destroy();
  }

  /** Stops the link before its owner closes the client. */
  end(): void {
    this.ended = true;
    this.timers.remove(this);
    for (const [event, handler] of Object.entries(this.handlers)) this.client.off(event, handler);
  }

  /** Closes the connection for good. A server that does not respond would keep a socket that is only ended. */
  abandon(): void {
    this.end();
    this.client.stream?.destroy();
    this.client.disconnect();
  }

  due(): void {
    const now = this.clock.now();
    const lateMs = now - this.dueAt;
    const offset = Date.now() - now;
    // A wall clock that was set only causes a probe.
    const pausedMs = lateMs + Math.max(0, offset - this.dateOffset);
    this.dateOffset = offset;
    if (pausedMs < LATE_TICK_MS) return this.examine(0);
    // Bytes that have already arrived are processed first.
    this.clock.nextTurn(() => {
      this.examine(lateMs);
      if (pausedMs >= PAUSE_MS) this.examineAfterPause();
    });
  }

  /** Probes the connection at once, and closes it early if it is silent. */
  private examineAfterPause(): void {
    if (this.ended || !this.accepts) return;
    const { connection, bytesNow } = this;
    // A subscriber with RESP2 may send no command that reads the clock.
    this.probe();
    void this.readClock();
    const silent = (): void => {
      if (!this.ended && connection === this.connection && bytesNow === this.bytesNow) this.close();
    };
    this.timers.add(new Alarm(() => this.clock.nextTurn(silent)), AFTER_PAUSE_LIMIT_MS);
  }

  private examine(lateMs: number): void {
    if (this.ended) return;
    const now = this.clock.now();
    const byteReceived = this.hasRead();
    // The time of a byte is known for replies and messages only; other bytes belong to a long reply.
    if (byteReceived && (lateMs > 0 || this.lastByteAt < this.lastTickAt)) this.lastByteAt = now;
    // Silence while this process read no bytes proves nothing about the server.
    else if (lateMs > 0) this.lastByteAt = now - Math.max(0, this.silentMs(now) - lateMs);
    this.lastTickAt = now;
    if (byteReceived && this.isOverdue && !this.handshaking) this.setOverdue(false);
    if (this.unanswered > 0 || this.handshaking) this.examineSilence(now, byteReceived);
    else if (this.probeAfterMs !== undefined) this.examineMessages(now, this.probeAfterMs);
    else this.schedule(RELAXED_TICK_MS, now);
  }

  private examineSilence(now: number, byteReceived: boolean): void {
    const silentMs = this.silentMs(now);
    if (silentMs >= COMMAND_LIMIT_MS && !this.isOverdue) this.setOverdue(true);
    if (silentMs >= SILENCE_LIMIT_MS) this.close();
    else if (!byteReceived) this.probe();
    const next = [COMMAND_LIMIT_MS, SILENCE_LIMIT_MS].find((limitMs) => silentMs < limitMs) ?? Infinity;
    this.schedule(Math.min(TICK_MS, next - silentMs), now);
  }

  private examineMessages(now: number, probeAfterMs: number): void {
    const leftMs = probeAfterMs - (now - this.lastByteAt);
    if (leftMs <= 0) this.probe();
    this.schedule(Math.min(RELAXED_TICK_MS, Math.max(leftMs, TICK_MS)), now);
  }

  /** Moves a tick that is more than {@link TICK_MS} away. The timers round up to whole milliseconds. */
  private tickSoon(now: number): void {
    if (this.dueAt - now > TICK_MS + 1) this.schedule(TICK_MS, now);
  }

  /** Schedules the next tick. There is always one, because a late tick shows that the process has paused. */
  private schedule(delayMs: number, now?: number): void {
    this.timers.add(this, delayMs, now);
  }

  /** Time for which a reply is pending and no byte has arrived. */
  private silentMs(now: number): number {
    return now - Math.max(this.lastByteAt, this.unansweredSince);
  }

  private get bytesNow(): number | undefined {
    return (this.client as { readonly stream?: { readonly bytesRead?: number } }).stream?.bytesRead;
  }

  /** Whether bytes have arrived since the last tick. */
  private hasRead(): boolean {
    const { bytesNow } = this;
    const more = bytesNow !== this.bytesRead;
    this.bytesRead = bytesNow;
    return more;
  }

  /** Starts to watch an open socket. The handshake has the same limit as a reply. */
  private connected(): void {
    this.handshaking = true;
    this.unansweredSince = this.clock.now();
    this.lastByteAt = -Infinity;
    this.bytesRead = this.bytesNow;
    this.schedule(TICK_MS);
  }

  /** Proves the connection by any reply to `TIME`; an error reply leaves the clock unknown. */
  private async prove(): Promise<void> {
    this.lastByteAt = this.clock.now();
    const { connection } = this;
    const [isProven] = await Promise.all([this.readClock(), this.greet?.()]);
    if (!isProven || connection !== this.connection) return;
    this.handshaking = false;
    if (this.ended) return;
    this.proven = true;
    this.isOverdue = false;
    this.update();
  }

  private setOverdue(overdue: boolean): void {
    this.isOverdue = overdue;
    this.update();
  }

  private lost(): void {
    this.connection += 1;
    this.handshaking = this.proven = this.isOverdue = this.closing = false;
    this.serverClock.forget();
    this.update();
  }

  private update(): void {
    const usable = this.proven && !this.isOverdue && !this.closing;
    if (usable === this.usable) return;
    this.usable = usable;
    if (usable) this.listener.usable?.(this);
    else this.listener.unusable?.(this);
  }
}

/** Whether the server replied with an error. */
function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
