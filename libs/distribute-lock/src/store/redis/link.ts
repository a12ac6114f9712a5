import type { Redis } from 'ioredis';

import type { Clock } from '../../runtime/clock.js';
import { Timed, type TimerLanes } from '../../runtime/timer-lanes.js';
import { ServerClock } from './server-clock.js';

/** How long a reply may take. Neither an option of the client nor the system's time-outs bound it well. */
export const COMMAND_LIMIT_MS = 800;
/** A socket on which a reply is expected and no byte has come for this long is closed. */
const SILENCE_LIMIT_MS = 2_500;
/** How often a link is examined while a reply is expected. */
const TICK_MS = 500;
/** A tick that is later than this shows that the process did not run, so it proves nothing about the server. */
const LATE_TICK_MS = 250;
/**
 * While waiters depend on messages, a link is probed when no byte has come for this long. Longer than a heartbeat (1.3 s +
 * 10 %): on a connection that carries commands as well, the replies to heartbeats are proof enough, so it is never probed.
 * A probe at every tick would cost each waiting process 2 commands/s for a fault that this detects in time.
 */
const PROBE_WHILE_EXPECTED_MS = 1_500;
/** ... and without waiters. */
const PROBE_WHILE_IDLE_MS = 10_000;

/** Observes a link. */
export interface LinkListener {
  /** The link accepts writes: a new connection is ready, or a reply that was overdue has come. */
  usable?(): void;
  /** The link accepts no writes: its connection was lost, or a reply is overdue. */
  unusable?(): void;
}

/** Settings of a {@link Link}. */
export interface LinkSettings {
  readonly clock: Clock;
  readonly timers: TimerLanes;
  readonly listener: LinkListener;
}

/**
 * One connection of the client and its health. The link knows the last write that expects a reply and the last byte received.
 * Idle time is not silence: silence starts with the first unanswered write. A connection without a byte for
 * {@link SILENCE_LIMIT_MS} is closed, and the client opens another one.
 *
 * A new connection is usable once it has answered `TIME`, which proves that it answers and sets {@link serverClock}.
 */
export class Link extends Timed {
  readonly serverClock = new ServerClock();
  private readonly clock: Clock;
  private readonly timers: TimerLanes;
  private readonly listener: LinkListener;
  /** Writes without a reply. */
  private unanswered = 0;
  /** When the first of them was written, if none was unanswered before. */
  private unansweredSince = 0;
  private lastByteAt = -Infinity;
  private lastTickAt = -Infinity;
  private bytesRead: number | undefined = undefined;
  /** The connection is open, and its handshake has not ended. */
  private handshaking = false;
  private proven = false;
  private isOverdue = false;
  private closing = false;
  private usable = false;
  private ended = false;
  /** How long no byte may come before a probe; `undefined` where no message is expected, so that no tick is needed. */
  private probeAfterMs: number | undefined = undefined;
  /** The next tick is more than {@link TICK_MS} away, as no reply is expected. */
  private relaxed = false;
  /** Rises with each connection that is lost. */
  private connection = 0;
  private guarded: unknown;
  private readonly handlers: Readonly<Record<string, () => void>> = {
    connect: () => this.connected(),
    ready: () => void this.prove(),
    close: () => this.lost(),
    error: () => this.guard(),
  };

  constructor(
    readonly client: Redis,
    { clock, timers, listener }: LinkSettings,
  ) {
    super();
    this.clock = clock;
    this.timers = timers;
    this.listener = listener;
    for (const [event, handler] of Object.entries(this.handlers)) client.on(event, handler);
    if (client.status === 'connect') this.connected();
    else if (client.status === 'ready') void this.prove();
  }

  /** Whether a write leaves now, and its reply can be expected in time. */
  get accepts(): boolean {
    return this.usable && this.client.status === 'ready';
  }

  /** A reply has not come for {@link COMMAND_LIMIT_MS}, and no other byte either. */
  get overdue(): boolean {
    return this.isOverdue || this.closing;
  }

  /** A command was written. */
  wrote(now = this.clock.now()): void {
    this.unanswered += 1;
    if (this.unanswered > 1) return;
    this.unansweredSince = now;
    if (this.lane === undefined || this.relaxed) this.schedule(TICK_MS, now);
  }

  /** A reply to a command has come. */
  answered(now = this.clock.now()): void {
    this.unanswered -= 1;
    this.lastByteAt = now;
    if (this.isOverdue) this.setOverdue(false);
  }

  /** A message has come. */
  received(): void {
    this.lastByteAt = this.clock.now();
    if (this.isOverdue) this.setOverdue(false);
  }

  /** The client has given a command up, or has passed on an error that the server answered. */
  failed(error: unknown): void {
    if (isReply(error)) this.answered();
    else this.unanswered -= 1;
  }

  /** A command has waited for its reply for too long, which may be known before the next tick. */
  late(): void {
    if (this.isOverdue || this.unanswered === 0) return;
    if (this.silentMs(this.clock.now()) >= COMMAND_LIMIT_MS) this.setOverdue(true);
  }

  /** Counts a command that is written now, and its reply. */
  track<T>(reply: Promise<T>): Promise<T> {
    this.wrote();
    reply.then(
      () => this.answered(),
      (error: unknown) => this.failed(error),
    );
    return reply;
  }

  /** Reads the server's clock again once in a while, beside the commands that need it. */
  refreshClock(now: number): void {
    if (this.serverClock.refreshes(now)) void this.readClock();
  }

  /** Whether this connection has answered, be it with an error, which leaves the clock unknown. Never rejects. */
  async readClock(): Promise<boolean> {
    if (this.client.status !== 'ready') return false;
    const { connection } = this;
    const sentAt = this.clock.now();
    try {
      // The client types them as numbers, and passes on the text of the server.
      const [seconds, microseconds] = (await this.track(this.client.time())).map(Number);
      if (connection !== this.connection) return false;
      this.serverClock.observe(seconds * 1_000 + microseconds / 1_000, sentAt);
      return true;
    } catch (error) {
      return connection === this.connection && isReply(error);
    }
  }

  /** Writes a `PING`, whose reply is expected as that of any command. */
  probe(): void {
    if (this.client.status !== 'ready' || this.closing) return;
    this.track(this.client.ping()).catch(() => undefined);
  }

  /** From now on the connection carries messages, and `expected` says whether waiters depend on them. */
  watchMessages(expected: boolean): void {
    this.probeAfterMs = expected ? PROBE_WHILE_EXPECTED_MS : PROBE_WHILE_IDLE_MS;
    if (this.lane === undefined || (expected && this.relaxed)) this.schedule(TICK_MS);
  }

  /** Closes the socket once; the client opens another one. Replies under way are lost, as a dead socket brings none. */
  close(): void {
    const { stream } = this.client as { readonly stream?: Redis['stream'] };
    if (this.closing || stream === undefined || stream === null || stream.destroyed) return;
    this.closing = true;
    this.update();
    stream.destroy();
  }

  /** The owner closes the client. */
  end(): void {
    this.ended = true;
    this.timers.remove(this);
    for (const [event, handler] of Object.entries(this.handlers)) {
      // An error that comes late must still find a listener.
      if (event !== 'error') this.client.off(event, handler);
    }
  }

  due(): void {
    if (this.clock.now() - this.dueAt < LATE_TICK_MS) return this.examine(false);
    // Bytes that have arrived get a turn of the event loop first.
    this.clock.nextTurn(() => this.examine(true));
  }

  private examine(late: boolean): void {
    if (this.ended) return;
    const now = this.clock.now();
    const heard = this.hasRead();
    // When a byte came is known of replies and messages; other bytes are parts of a long reply.
    if (late || (heard && this.lastByteAt < this.lastTickAt)) this.lastByteAt = now;
    this.lastTickAt = now;
    if (heard && this.isOverdue && !this.handshaking) this.setOverdue(false);
    if (this.unanswered > 0 || this.handshaking) this.examineSilence(now, heard);
    else if (this.probeAfterMs !== undefined) this.examineMessages(now);
  }

  private examineSilence(now: number, heard: boolean): void {
    const silentMs = this.silentMs(now);
    if (silentMs >= COMMAND_LIMIT_MS && !this.isOverdue) this.setOverdue(true);
    if (silentMs >= SILENCE_LIMIT_MS) this.close();
    else if (!heard) this.probe();
    const next = [COMMAND_LIMIT_MS, SILENCE_LIMIT_MS].find((limitMs) => silentMs < limitMs) ?? Infinity;
    this.schedule(Math.min(TICK_MS, next - silentMs), now);
  }

  private examineMessages(now: number): void {
    const leftMs = this.probeAfterMs! - (now - this.lastByteAt);
    if (leftMs <= 0) this.probe();
    this.schedule(Math.max(leftMs, TICK_MS), now);
    this.relaxed = leftMs > TICK_MS;
  }

  private schedule(delayMs: number, now?: number): void {
    this.relaxed = false;
    this.timers.add(this, delayMs, now);
  }

  /** For how long a reply is expected and no byte has come. */
  private silentMs(now: number): number {
    return now - Math.max(this.lastByteAt, this.unansweredSince);
  }

  private get bytesNow(): number | undefined {
    return (this.client as { readonly stream?: { readonly bytesRead?: number } }).stream?.bytesRead;
  }

  /** Whether bytes have come since the last tick. */
  private hasRead(): boolean {
    const { bytesNow } = this;
    const more = bytesNow !== this.bytesRead;
    this.bytesRead = bytesNow;
    return more;
  }

  /** The socket is open; the handshake has the same limit as a reply. */
  private connected(): void {
    this.handshaking = true;
    this.unansweredSince = this.clock.now();
    this.lastByteAt = -Infinity;
    this.bytesRead = this.bytesNow;
    this.schedule(TICK_MS);
  }

  /** Any answer to `TIME` proves the connection; one that is refused leaves the clock unknown. */
  private async prove(): Promise<void> {
    this.lastByteAt = this.clock.now();
    if (!(await this.readClock())) return;
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
    if (usable) this.listener.usable?.();
    else this.listener.unusable?.();
  }

  /**
   * A socket that speaks TLS may report a second error while the first one closes it. The client listens for one only, so the
   * second would be thrown where no caller can catch it.
   */
  private guard(): void {
    const { stream } = this.client as { readonly stream?: Redis['stream'] };
    if (stream === this.guarded) return;
    this.guarded = stream;
    stream?.on('error', () => undefined);
  }
}

/** Whether the server has answered, be it with an error. */
function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
