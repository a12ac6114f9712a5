import type { FencingBlock, Grant } from '../../lease/grant.js';
import type { LeaseHandle } from '../../lease/lease-handle.js';
import { Timed } from '../../runtime/timer-lanes.js';
import { weightOf } from '../../runtime/owner-token.js';
import type { Attempt } from '../attempt.js';
import { KeyQueue } from '../key-queue.js';
import type { Line } from '../line.js';
import type { Waiter } from '../waiter.js';
import { Run } from './run.js';

/**
 * While callers of this process wait in the store, new ones are reported to it at most so often. Callers of several processes that
 * come within this time of each other may be served in either order; in return they cost few commands.
 */
const REPORT_MS = 25;
/** Callers that have just given a permit to another process often come again at once. */
const RETURN_MS = 2;

/** Reports the callers that have come since the last report. */
class Reporting extends Timed {
  constructor(readonly due: () => void) {
    super();
  }
}

/** Any number of grants, each with its weight and one holder at a time; never split, merged or resized. */
export class SemaphoreQueue extends KeyQueue {
  /** The callers that wait, in the order in which they came. */
  private readonly runs: Run[] = [];
  private readonly held = new Map<string, Grant>();
  private readonly ending = new Set<string>();
  /** Of the latest grant: its numbers are larger than those of all earlier grants. */
  private numbers: FencingBlock | undefined = undefined;

  readonly reporting: Reporting;
  private nextReportAt = -Infinity;
  /** Callers whose permits went to another process come back by then. */
  private returnUntil = -Infinity;

  constructor(key: string, report: () => void) {
    super(key);
    this.reporting = new Reporting(report);
  }

  get lane(): 'semaphore' {
    return 'semaphore';
  }

  override get idle(): boolean {
    return super.idle && this.waiting === 0 && this.ending.size === 0;
  }

  /** The run of a new caller: the last one, unless another process has come since, or the caller wants something else. */
  runOf(waiter: Waiter, now: number): Run {
    this.tidy();
    const last = this.runs.at(-1);
    if (last?.takes(waiter, now) === true) return last;
    if (last !== undefined) last.closed = true;
    const run = new Run(this, false);
    if (last === undefined && this.isAlone(waiter.call.options.permits, now)) run.reach(now);
    this.runs.push(run);
    return run;
  }

  /**
   * A grant of a later run came first, so it is for the oldest caller that wants the same. Each run gives its first caller to the
   * run of the same kind before it, whose place that caller takes over. Answers the run of the oldest caller.
   */
  moveUp(served: Run, isContended: boolean, now: number): Run {
    let oldest = served;
    // The callers that are served now come back soon, and are reported together.
    if (isContended) this.nextReportAt = Math.max(this.nextReportAt, now + REPORT_MS);
    served.reach(now);
    for (let i = this.runs.indexOf(served) - 1; i >= 0; i -= 1) {
      const run = this.runs[i];
      run.reach(now);
      if (!run.wantsLike(oldest)) continue;
      run.takeOver(oldest.first!);
      oldest = run;
    }
    const next = this.runs[this.runs.indexOf(served) + 1];
    if (next !== undefined) served.absorb(next, now);
    return oldest;
  }

  get lastRun(): Run | undefined {
    return this.runs.at(-1);
  }

  override get next(): Waiter | undefined {
    const run = this.firstRun;
    return run?.sealed === true && run.attempt === undefined ? run.first : undefined;
  }

  override get line(): Line {
    return this.firstRun!;
  }

  /** Of the callers that are next. */
  private get firstRun(): Run | undefined {
    return this.runs.find(({ size }) => size > 0);
  }

  /** A run without callers is over. */
  override tidy(): void {
    for (let i = this.runs.length - 1; i >= 0; i -= 1) if (this.runs[i].size === 0) this.runs.splice(i, 1);
  }

  /** The last caller of a run was served. Those that hold permits now often come again when they have handed them over. */
  lastServed(now: number): void {
    if (this.held.size > 0) this.returnUntil = now + RETURN_MS;
  }

  /** A permit of this process goes to another one. */
  handedOver(now: number): void {
    this.returnUntil = now + RETURN_MS;
  }

  /** How long a new caller may wait for those behind it to be reported with it: not while permits may be free. */
  reportsIn(now: number): number {
    return (this.isBehind ? this.nextReportAt : this.returnUntil) - now;
  }

  /** The runs that may need places; they are reported now. */
  unreported(now: number): readonly Run[] {
    if (this.isBehind) this.nextReportAt = now + REPORT_MS;
    return [...this.runs];
  }

  /** How many more places the run needs. One is enough while this process holds every permit and no other process waits. */
  missing(run: Run, now: number): number {
    const permits = run.last?.call.options.permits;
    if (permits === undefined || run.places > 0) return 0;
    if (run === this.firstRun && !run.closed && this.isAlone(permits, now)) return 1;
    // The permits that it got stay with its callers.
    if (run.sealed && this.held.size > 0) return 0;
    run.seal(now);
    return run.wanted;
  }

  /** Who comes now stands behind another process; a run that is not reported yet does so as a whole. */
  override othersCame(): void {
    const last = this.runs.at(-1);
    if (last !== undefined && (last.places > 0 || last.reached)) last.closed = true;
    for (const grant of this.held.values()) grant.contended = true;
  }

  /** The first holder of the grant has its number. */
  add(grant: Grant): void {
    this.held.set(grant.ownerToken, grant);
    if (this.numbers === undefined || grant.numbers.isNewerThan(this.numbers)) this.numbers = grant.numbers;
    for (const each of this.held.values()) each.numbers = this.numbers;
  }

  grants(): readonly Grant[] {
    return [...this.held.values()];
  }

  grantOf(ownerToken: string): Grant | undefined {
    return this.held.get(ownerToken);
  }

  drop(grant: Grant): void {
    this.held.delete(grant.ownerToken);
  }

  suffix(first: Waiter | undefined): string {
    return `:${first?.call.options.weight ?? 1}`;
  }

  /**
   * The first caller of all that wait, in whatever process, and only for the very permits that the lease has. While another process
   * may hold permits, its numbers are not known here, so the store issues the next one.
   */
  heir({ call: { options } }: LeaseHandle, now: number): Waiter | undefined {
    const run = this.firstRun;
    const first = run?.reached === true ? run.first : undefined;
    if (first === undefined || !(this.hasAll(options.permits, now) || run?.stands(now) === true)) return undefined;
    const { weight, permits } = first.call.options;
    return weight === options.weight && permits === options.permits ? first : undefined;
  }

  override get inOrder(): boolean {
    return true;
  }

  /** The release serves a place of the first run by the same command, where nothing stands before it. */
  override get standing(): Attempt | undefined {
    const run = this.firstRun;
    return run?.reached === true ? run.attempts.find(({ seesHolder }) => seesHolder) : undefined;
  }

  override get waiting(): number {
    return this.runs.reduce((sum, { size }) => sum + size, super.waiting);
  }

  override get waitingInMemory(): number {
    return this.runs.reduce((sum, { attempt, size }) => sum + (attempt === undefined ? size : 0), 0);
  }

  override get holderLeftMs(): number {
    return this.firstRun?.attempt?.holderLeftMs ?? -1;
  }

  override attemptOf(ownerToken: string): Attempt | undefined {
    for (const run of this.runs) {
      const found = run.attempts.find((attempt) => attempt.ownerToken === ownerToken);
      if (found !== undefined) return found;
    }
    return super.attemptOf(ownerToken);
  }

  override attempts(): Attempt[] {
    return [...this.runs.flatMap(({ attempts }) => attempts), ...super.attempts()];
  }

  override lines(): Line[] {
    return [...this.runs, ...super.lines()];
  }

  override get asks(): boolean {
    return super.asks || this.runs.some(({ attempt }) => attempt !== undefined);
  }

  /** Permits are not free: callers of this process wait that the store has queued, or that get its permits in turn. */
  get isBehind(): boolean {
    return this.runs.some(
      ({ attempt, reached, sealed, size }) =>
        size > 0 && (attempt?.seesHolder === true || (reached && sealed && this.held.size > 0)),
    );
  }

  /** This process holds every permit at `now`, and no other process is known to wait. */
  private isAlone(permits: number, now: number): boolean {
    for (const { contended } of this.held.values()) if (contended) return false;
    return this.hasAll(permits, now);
  }

  /** This process holds every permit at `now`. */
  private hasAll(permits: number, now: number): boolean {
    let free = permits;
    for (const { ownerToken, validUntil } of this.held.values()) if (now < validUntil) free -= weightOf(ownerToken);
    return free === 0;
  }

  override releaseStarts(ownerToken: string): void {
    this.ending.add(ownerToken);
  }

  override releaseEnds(ownerToken: string): void {
    this.ending.delete(ownerToken);
  }

  override isReleasing(ownerToken: string): boolean {
    return this.ending.has(ownerToken);
  }
}
