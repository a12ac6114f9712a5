import {
  type LockAcquireMessage,
  lockChannels,
  type LockHandOver,
  type LockHoldMessage,
  type LockStateMessage,
  registeredLocks,
} from '../channels.js';
import { isLockError } from '../errors.js';
import type { INSTRUMENTS, Labels } from './instruments.js';
import { OpenSet } from './open-set.js';
import { subscribe } from './subscribe.js';

type Name = keyof typeof INSTRUMENTS;

/** A metrics library. Labels are in the order of the instrument. */
export interface MetricsSink {
  /** Adds to a counter or an up-down counter. */
  add(instrument: Name, change: number, labels: Labels): void;
  /** Records seconds in a histogram. */
  record(instrument: Name, seconds: number, labels: Labels): void;
  /** Makes the histogram visible before its first value, where the library can. */
  zero(instrument: Name, labels: Labels): void;
  /** Sets a gauge. */
  set(instrument: Name, value: number, labels: Labels): void;
}

const HAND_OVERS: readonly LockHandOver[] = ['local', 'message', 'heartbeat', 'expiry'];

/** Reports to a sink what happens to the locks of this process, until `stop()`. */
export class LockObserver {
  private readonly waits = new OpenSet();
  private readonly holds = new OpenSet();
  private readonly unsubscribe: readonly (() => void)[];

  constructor(private readonly sink: MetricsSink) {
    const state = (message: unknown): void => this.changed(message as LockStateMessage);
    lockChannels.state.subscribe(state);
    this.unsubscribe = [
      subscribe<LockAcquireMessage>(lockChannels.acquire, {
        start: (message) => this.waitStarts(message),
        asyncEnd: (message) => this.waitEnds(message),
      }),
      subscribe<LockHoldMessage>(lockChannels.hold, {
        start: (message) => this.holdStarts(message),
        asyncEnd: (message) => this.holdEnds(message),
      }),
      () => {
        lockChannels.state.unsubscribe(state);
      },
    ];
    for (const path of HAND_OVERS) sink.add('handover', 0, [path]);
    for (const [name, kind] of registeredLocks) this.registered(name, kind);
  }

  stop(): void {
    for (const unsubscribe of this.unsubscribe) unsubscribe();
  }

  /** For how many seconds the oldest waiter of each name waits. */
  oldestWaits(): Iterable<readonly [name: string, seconds: number]> {
    return this.waits.oldest();
  }

  /** For how many seconds the oldest lease of each name is held. */
  oldestHolds(): Iterable<readonly [name: string, seconds: number]> {
    return this.holds.oldest();
  }

  private registered(name: string, kind: string): void {
    this.waits.known(name);
    this.holds.known(name);
    this.sink.add('waiting', 0, [name, kind]);
    this.sink.add('held', 0, [name, kind]);
    this.sink.zero('wait', [name, kind, 'acquired', '']);
    this.sink.zero('hold', [name, kind, 'released']);
  }

  private waitStarts(message: LockAcquireMessage): void {
    const { name, kind } = message;
    this.waits.start(name, message);
    this.sink.add('waiting', 1, [name, kind]);
  }

  private waitEnds(message: LockAcquireMessage): void {
    const { name, kind, outcome = 'refused', waitedMs = 0, handOver, error } = message;
    if (this.waits.end(name, message)) this.sink.add('waiting', -1, [name, kind]);
    this.sink.record('wait', waitedMs / 1_000, [name, kind, outcome, typeOf(error)]);
    if (handOver !== undefined) this.sink.add('handover', 1, [handOver]);
  }

  private holdStarts(message: LockHoldMessage): void {
    const { name, kind } = message;
    this.holds.start(name, message);
    this.sink.add('held', 1, [name, kind]);
  }

  private holdEnds(message: LockHoldMessage): void {
    const { name, kind, outcome = 'released', heldMs = 0 } = message;
    if (this.holds.end(name, message)) this.sink.add('held', -1, [name, kind]);
    this.sink.record('hold', heldMs / 1_000, [name, kind, outcome]);
  }

  private changed(message: LockStateMessage): void {
    if (message.type === 'registered') this.registered(message.name, message.kind);
    else if (message.type === 'renewed') this.sink.record('lag', message.lagMs / 1_000, []);
    else if (message.type === 'pubsub') this.sink.set('degraded', message.available ? 0 : 1, [message.connection]);
    else if (message.type === 'lost') this.sink.add('lost', 1, [message.name, message.reason ?? 'unknown']);
  }
}

/** A code of this package, or the class of another error: never its message, which may contain what a user sent. */
export function typeOf(error: Error | undefined): string {
  if (error === undefined) return '';
  return isLockError(error) ? error.code : error.name;
}
