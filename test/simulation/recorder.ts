import type { ResolvedLockOptions } from '../../libs/distribute-lock/src/options/lock-options.js';
import { checkHistory } from '../checker/check-history.js';
import {
  RUN,
  type Bare,
  type HistoryEvent,
  type RecordedOptions,
  type RunEvent,
  type WorkerEvent,
} from '../checker/event.js';
import { patienceMs } from './patience.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

/** No fault is shorter, because the checker looks for overlaps. */
const LEAST_MS = 1;

/** Records the history for the checker, in real time. */
export class Recorder {
  private readonly events: HistoryEvent[] = [];
  private readonly faults: { from: number; at: number }[] = [];

  constructor(private readonly world: World) {}

  record({ name }: SimulatedProcess, event: Bare<WorkerEvent>): void {
    this.events.push({ process: name, at: this.world.timeline.now, ...event });
  }

  recordRun(event: Bare<RunEvent>, at = this.world.timeline.now): void {
    this.events.push({ process: RUN, at, ...event });
  }

  /** Records a fault from now on for this long. Faults that overlap are one fault. */
  trouble(ms: number): void {
    const from = this.world.timeline.now;
    const at = from + Math.max(ms, LEAST_MS);
    const last = this.faults.at(-1);
    if (last === undefined || from > last.at) this.faults.push({ from, at });
    else if (at > last.at) last.at = at;
  }

  /** The first violation that the checker finds. */
  violation(): string | undefined {
    const faults = this.faults.map((fault): HistoryEvent => ({
      process: RUN,
      type: 'fault',
      name: 'trouble',
      cutOff: false,
      ...fault,
    }));
    const patience = patienceMs(this.world.plan);
    const [first] = checkHistory([...faults, ...this.events], {
      standstillMs: 0,
      slackMs: 20,
      abortsMs: 0.05,
      leaseMs: 0.01,
      earlyMs: 1e-3,
      beginsMs: 0,
      servedMs: patience,
      servedInTroubleMs: patience,
      answerMs: 0,
      seenMs: 0,
      inTurn: this.world.plan.processes.every(({ deaf }) => !deaf),
      queuesAgain: true,
      faultsStop: true,
    });
    return first && `${first.rule}: ${first.message}`;
  }
}

/** The options of a call, with `wait`, `maxHold` and `minHold` in real time. */
export function recordedOptions(options: ResolvedLockOptions, { plan: { rate } }: SimulatedProcess): RecordedOptions {
  const { ttlMs, waitMs, kind, renew, fair, release, maxHoldMs, minHoldMs, permits, weight } = options;
  return {
    ttl: ttlMs,
    wait: waitMs / rate,
    kind,
    renew,
    fair,
    release,
    ...(maxHoldMs < Infinity ? { maxHold: maxHoldMs / rate } : {}),
    ...(minHoldMs > 0 ? { minHold: minHoldMs / rate } : {}),
    ...(kind === 'semaphore' ? { permits, weight } : {}),
  };
}
