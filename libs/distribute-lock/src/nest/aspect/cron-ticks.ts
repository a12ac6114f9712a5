import type { DiscoveryService } from '@nestjs/core';

import { LockConfigurationError } from '../../errors.js';
import type { Lease } from '../../engine/lease/lease.js';
import { lastTick, type Schedule, type ScheduledJob, type Tick } from '../../locks/schedule.js';
import { AttemptsInTurn, claimTick, type TickClaims } from '../../locks/tick.js';

/** Options of `@Cron`, as `@nestjs/schedule` records them. */
export interface CronOptions {
  readonly name?: string;
  readonly cronTime: unknown;
  readonly timeZone?: string;
  readonly utcOffset?: number;
}

/** The part of `SchedulerRegistry` that all releases of `@nestjs/schedule` have. */
interface Registry {
  getCronJobs(): ReadonlyMap<string, ScheduledJob>;
}

/** Dates of jobs whose tick a call has had. `cron` creates one for each tick, so a call by hand finds no other. */
const used = new WeakSet<Date>();

/** The connection and the options of a job. */
interface LockOfJob {
  readonly engine: TickClaims;
  readonly options: { readonly waitMs: number };
}

/** A tick, and whether this instance has had it or a later one. */
interface TickOfCall {
  readonly tick: Tick;
  readonly repeated: boolean;
}

/** The ticks of the calls of one method. */
export class CronTicks {
  /** The newest tick of each instance: after its clock stepped back, it names ticks whose markers have ended. */
  private readonly newest = new WeakMap<object, number>();
  private readonly inTurn = new AttemptsInTurn();

  constructor(
    private readonly method: string,
    private readonly cron: CronOptions,
    private readonly discovery: DiscoveryService,
  ) {}

  /**
   * The tick of a call by the scheduler; `undefined` when code has fired the job. Call it at once, before the next timer.
   * @throws LockConfigurationError when the job is not in `SchedulerRegistry`
   */
  ofCall(self: object): TickOfCall | undefined {
    const jobs = this.jobs();
    if (jobs.length === 0) {
      throw new LockConfigurationError(
        `${this.method} did not run, because SchedulerRegistry has no job with its name or schedule. Give the job a "name".`,
      );
    }
    let fired: ScheduledJob | undefined;
    for (const job of jobs) {
      const date = job.lastDate();
      if (date === null || used.has(date)) continue;
      if (fired === undefined || date >= fired.lastDate()!) fired = job;
    }
    const tick = fired && lastTick(fired);
    for (const job of jobs) used.add(job.lastDate() ?? new Date());
    if (tick === undefined) return undefined;
    const at = tick.instant.getTime();
    const repeated = at <= (this.newest.get(self) ?? -Infinity);
    if (!repeated) this.newest.set(self, at);
    return { tick, repeated };
  }

  /**
   * Acquires the lock of the job, and claims the tick for its lease.
   * @throws LockContendedError when another call has claimed the tick
   */
  acquire(
    { tick, repeated }: TickOfCall,
    { engine, options }: LockOfJob,
    name: string,
    lock: () => Promise<Lease>,
  ): Promise<Lease> {
    const attempt = async (): Promise<Lease> => {
      const lease = await lock();
      try {
        await claimTick(engine, lease, name, tick, repeated);
      } catch (error) {
        await lease.release();
        throw error;
      }
      return lease;
    };
    return options.waitMs > 0 ? attempt() : this.inTurn.run(attempt);
  }

  /** The job of that name, or the jobs with that schedule: `@nestjs/schedule` names other jobs by random values. */
  private jobs(): readonly ScheduledJob[] {
    const jobs = this.registry()?.getCronJobs();
    if (jobs === undefined) return [];
    const named = this.cron.name === undefined ? undefined : jobs.get(this.cron.name);
    return named ? [named] : [...jobs.values()].filter(({ cronTime }) => this.has(cronTime));
  }

  private has({ source, timeZone, utcOffset }: Schedule): boolean {
    const { cron } = this;
    if (String(source) !== String(cron.cronTime) && Number(source) !== Number(cron.cronTime)) return false;
    return (
      (cron.timeZone === undefined || cron.timeZone === timeZone) && (cron.utcOffset ?? null) === (utcOffset ?? null)
    );
  }

  private registry(): Registry | undefined {
    // By name, because the package is optional.
    const found = this.discovery.getProviders().find(({ name }) => name === 'SchedulerRegistry');
    return found?.instance as Registry | undefined;
  }
}
