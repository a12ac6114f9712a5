import { LOCK_DEFAULTS } from '../../../libs/distribute-lock/src/options/lock-options.js';
import { PATIENT_MS, type Plan } from '../../simulation/plan.js';
import type { SimulatedProcess } from '../../simulation/simulated-process.js';
import { World } from '../../simulation/world.js';
import { jain, percentile } from './holds.js';

/** The result of a run with a hot key. */
export interface SimulatedRun {
  readonly holdsPerS: number;
  readonly callsPerHold: number;
  readonly p50: number;
  readonly p99: number;
  readonly fairness: number;
  readonly serverCpu?: number;
  readonly overlaps: number;
  readonly falling: number;
  readonly lost: number;
}

/** Holds of a run. The simulation takes a history of several times as many events for an endless one. */
const HOLDS = 2_000;
const HOLD_MS = 0.3;
/** The longest time of a command, reply or message in transit. */
const LATENCY_MS = 0.1;

/** A world that counts the commands that reach its server, and when callers ask and are served. */
class CountedWorld extends World {
  commands = 0;
  lastHoldAt = 0;
  private readonly calledAt = new Map<string, number>();
  readonly waitsMs: number[] = [];
  readonly perCaller = new Map<string, number>();

  override note(what: string, process?: SimulatedProcess, details?: unknown): void {
    super.note(what, process, details);
    if (/^(?:acquire|release|renew) /.test(what)) this.commands += 1;
    const [, label = '', event = ''] = /^(c\d+\.\d+) (asks|holds) /.exec(what) ?? [];
    if (event === 'asks') this.calledAt.set(label, this.timeline.now);
    if (event !== 'holds') return;
    this.lastHoldAt = this.timeline.now;
    this.waitsMs.push(this.lastHoldAt - this.calledAt.get(label)!);
    const [caller] = label.split('.');
    this.perCaller.set(caller, (this.perCaller.get(caller) ?? 0) + 1);
  }
}

/** Runs the engine in that many simulated processes; the simulation checks every rule of the protocol. */
export async function simulateHotKey(processes: number): Promise<SimulatedRun> {
  const rounds = Math.max(1, Math.floor(HOLDS / processes));
  const world = new CountedWorld(planOf(processes, rounds));
  const violation = await world.run();
  if (violation !== undefined) throw new Error(`The simulation of ${processes} processes broke a rule: ${violation}`);
  const waitsMs = Float64Array.from(world.waitsMs).sort();
  const holds = world.ledger.count;
  return {
    holdsPerS: (holds / world.lastHoldAt) * 1_000,
    callsPerHold: world.commands / holds,
    p50: percentile(waitsMs, 0.5),
    p99: percentile(waitsMs, 0.99),
    fairness: jain([...world.perCaller.values()]),
    // The simulation ends with the first overlap or falling token.
    overlaps: 0,
    falling: 0,
    lost: processes * rounds - holds,
  };
}

const planOf = (processes: number, rounds: number): Plan => ({
  seed: 1,
  weather: 'calm',
  processes: Array.from({ length: processes }, () => ({ rate: 1, offset: 0, deaf: false })),
  callers: Array.from({ length: processes }, (_, process) => ({
    at: process / 1_000,
    process,
    key: 'hot',
    options: { ...LOCK_DEFAULTS, ttlMs: 30_000, waitMs: PATIENT_MS },
    holdMs: HOLD_MS,
    rounds,
    gapMs: 0,
    scoped: false,
  })),
  faults: [],
  latencyMs: LATENCY_MS,
  lagMs: 0,
  lossShare: 0,
  lateShare: 0,
  refusalShare: 0,
  counted: true,
});
