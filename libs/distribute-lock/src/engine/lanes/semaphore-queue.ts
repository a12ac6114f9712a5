import type { FencingBlock, Grant } from '../lease/grant.js';
import type { LeaseHandle } from '../lease/lease-handle.js';
import { Timer } from '../../runtime/timers.js';
import { weightOf } from '../../runtime/owner-token.js';
import type { Attempt } from '../attempt.js';
import { KeyQueue } from '../key-queue.js';
import type { Line } from '../line.js';
import type { Waiter } from '../waiter.js';
import { ORDER_TOLERANCE_MS, Run } from './run.js';

/** Callers that hand a permit to another process often return within this time. */
const RETURN_MS = 2;

/** Reports the callers that have arrived since the last report. */
class Reporting extends Timer {
  constructor(readonly due: () => void) {
    super();
  }
}

/** Any number of grants, each with a weight and one holder at a time. Grants are never split, merged or resized. */
export class SemaphoreQueue extends KeyQueue {
  /** Runs of waiters, in order of arrival. */
  private readonly runs: Run[] = [];
  private readonly held = new Map<string, Grant>();
  private readonly ending = new Set<string>();
  /** The block of the latest grant: its numbers exceed the numbers of all earlier grants. */
  private numbers: FencingBlock | undefined = undefined;

  readonly reporting: Reporting;
  private nextReportAt = -Infinity;
  /** Until then, callers whose permits went to another process are expected to return. */
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

  /** The run for a new caller: the last one, unless another process came in between or the options differ. */
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
   * A later run got a grant first, so the grant goes to the oldest caller with equal options. Each run passes its first caller to
   * the equal run before it, where that caller takes over the free place. Returns the run of the oldest caller.
   */
  moveUp(served: Run, isContended: boolean, now: number): Run {
    let oldest = served;
    // The callers that are served now return soon, and are reported together.
    if (isContended) this.nextReportAt = Math.max(this.nextReportAt, now + ORDER_TOLERANCE_MS);
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

  /** The run of the next waiter. */
  private get firstRun(): Run | undefined {
    return this.runs.find(({ size }) => size > 0);
  }

  /** Removes runs without callers. */
  override tidy(): void {
    for (let i = this.runs.length - 1; i >= 0; i -= 1) if (this.runs[i].size === 0) this.runs.splice(i, 1);
  }

  /** The last caller of a run was served. Present holders often return after they have handed over their permits. */
  lastServed(now: number): void {
    for (const { contended } of this.held.values()) if (contended) this.returnUntil = now + RETURN_MS;
  }

  /** A permit of this process goes to another process. */
  handedOver(now: number): void {
    this.returnUntil = now + RETURN_MS;
  }

  /** How long a new caller may wait to be reported with later ones; it does not wait while permits may be free. */
  reportsIn(now: number): number {
    return (this.isBehind ? this.nextReportAt : this.returnUntil) - now;
  }

  /** The runs that may need places, for a report that is sent now. */
  unreported(now: number): readonly Run[] {
    if (this.isBehind) this.nextReportAt = now + ORDER_TOLERANCE_MS;
    return [...this.runs];
  }

  /** How many more places the run needs. One suffices while this process holds every permit and no other process waits. */
  missing(run: Run, now: number): number {
    const permits = run.last?.call.options.permits;
    if (permits === undefined || (run.places > 0 && (run.sealed || !run.closed))) return 0;
    if (run === this.firstRun && !run.closed && this.isAlone(permits, now)) return 1;
    // The permits of the run stay with its callers.
    if (run.sealed && this.held.size > 0) return 0;
    run.seal(now);
    return Math.max(0, run.wanted - run.places);
  }

  /** Another process waits, so new callers form another run. An unreported run goes behind that process as a whole. */
  override othersCame(): void {
    const last = this.runs.at(-1);
    if (last !== undefined && (last.places > 0 || last.reached)) last.closed = true;
    for (const grant of this.held.values()) grant.contended = true;
  }

  /** The first holder of the grant has its fencing token already. */
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
   * The first waiter of all processes, if it wants exactly the permits of the lease. While another process may hold permits, its
   * fencing tokens are unknown here, so the store has to issue the next token.
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

  /** The place of the first run that the release serves by the same command, if no place is before it. */
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

  /** No permit is free: callers of this process are queued in the store, or take over its permits in turn. */
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
