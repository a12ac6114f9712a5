import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { RUN, type HistoryEvent, type RecordedOptions, type RunEvent, type WorkerEvent } from '../histories/event.js';
import type { SimulatedProcess } from './simulated-process.js';

/** Shorter than the time between two moments. */
const MOMENT_MS = 1e-8;

type WithoutTime<E> = E extends unknown ? Omit<E, 'at'> : never;

/** Records a simulated history in the format of `test/histories`. Its clock is the simulated time. */
export class Recorder {
  readonly events: HistoryEvent[] = [];
  private latest = 0;

  constructor(private readonly timeline: { readonly now: number }) {}

  /** An event of a process. */
  record({ name: process }: { readonly name: string }, event: WithoutTime<WorkerEvent>): void {
    this.events.push({ at: this.next(), process, ...event });
  }

  /** Events of one moment keep their order. */
  private next(): number {
    const { now } = this.timeline;
    this.latest = now > this.latest ? now : this.latest + MOMENT_MS;
    return this.latest;
  }

  /** An event of the server, of the network, or of a fault. */
  run(event: WithoutTime<RunEvent>, at = this.next()): void {
    this.events.push({ at, process: RUN, ...event });
  }
}

/** The options with durations of the simulated time: the clock of the process has another speed, that of the server has not. */
export function recordedOptions(
  options: ResolvedLockOptions,
  process: Pick<SimulatedProcess, 'realMs'>,
): RecordedOptions {
  const { ttlMs, waitMs, maxHoldMs, minHoldMs, kind, permits, weight, renew, fair, release } = options;
  return {
    ttl: ttlMs,
    wait: process.realMs(waitMs),
    minHold: minHoldMs === 0 ? undefined : process.realMs(minHoldMs),
    maxHold: maxHoldMs === Infinity ? undefined : process.realMs(maxHoldMs),
    ...(kind === 'semaphore' ? { permits, weight } : {}),
    kind,
    renew,
    fair,
    release,
  };
}
