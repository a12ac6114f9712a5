import { createHmac, randomBytes } from 'node:crypto';

import { earliest, partsOf } from './recorder.js';
import type { BarReport, LockRef, LockReport, Outcome, Summary } from './summary.js';

/** An instance that sends nothing for this time does not respond. It sends a summary each second at least. */
const SILENT_MS = 2_500;
/** The page shows this part of the past. */
const WINDOW_MS = 60_000;
const FORGET_MS = 30_000;
const TIDY_MS = 2_000;
const MOST_INSTANCES = 50;
const MOST_LOCKS_EACH = 20_000;
const MOST_BARS = 3_000;
const MOST_DETACHED = 1_000;
/** Names of calls in the title of a lock. */
const MOST_NAMES = 3;
/** Ends of leases that differ by less are one. */
const SAME_END_MS = 300;
/** Callers that begin to wait within this time are one bar, because summaries may report them one after another. */
const TOGETHER_MS = 700;

/** An instance as pages show it. */
export interface Instance {
  /** Its place in the list; bars and locks name it by this number. */
  readonly place: number;
  readonly label: string;
  responds: boolean;
}

interface KnownInstance extends Instance {
  /** Milliseconds to add to its times, for a clock that differs. */
  offset: number;
  lastAt: number;
  number: number;
  summary: Summary;
  readonly locks: Map<LockRef, LockReport>;
  /** The wait that is not over yet, by lock. */
  readonly waits: Map<LockRef, Bar>;
  readonly open: Map<number, Bar>;
}

/** Something to draw. */
export interface Bar {
  readonly id: string;
  readonly ref: LockRef;
  readonly name: string;
  readonly place: number;
  readonly kind: string;
  readonly start: number;
  end: number;
  outcome: Outcome | 'waiting' | 'silent';
  count: number;
  /** When the lease ends, if its instance does not respond or has detached it; otherwise 0. */
  tail: number;
  /** Increases with every change of any bar. */
  revision: number;
}

/** What the timeline calls a lock. */
export interface Title {
  /** Names of the latest calls. */
  readonly names: readonly string[];
  /** Empty when no hold was seen. */
  readonly kind: string;
}

/**
 * A holder that reports to no page: the name of its process, if known, the end of its lease, 0 for none, and the number of detached
 * leases.
 */
export type Elsewhere = readonly [label: string, until: number, detached: number];

/** A lock, from the reports of all instances. */
export interface Lock {
  readonly ref: LockRef;
  readonly name: string;
  readonly kind: string;
  readonly holders: readonly (readonly [place: number, count: number])[];
  readonly since: number;
  readonly until: number;
  readonly waiting: number;
  readonly waitingSince: number;
}

/** All locks that an instance holds or waits for. */
export interface LockList {
  readonly all: readonly Lock[];
  /** Number of locks with a holder. */
  readonly held: number;
}

/** What all pages of this instance share: the instances, their locks, and the bars of the last minute. */
export class Board {
  private readonly instances = new Map<string, KnownInstance>();
  private readonly bars = new Map<string, Bar>();
  private readonly ids = new Map<LockRef, string>();
  private readonly secret = randomBytes(16);
  /** LockList from the reports of all instances, and those whose reports have changed. */
  private readonly merged = new Map<LockRef, Lock>();
  private readonly touched = new Set<LockRef>();
  private counted: LockList = { all: [], held: 0 };
  private tidiedAt = 0;
  private places = 0;
  private waitNumber = 0;
  revision = 0;
  private readonly titles = new Map<LockRef, Title>();
  /** According to the store, the locks with detached leases, and those with waiters whose holders report to no page. */
  readonly elsewhere = new Map<LockRef, Elsewhere>();
  /** The latest bar whose lease was detached, by lock. The locks that were read last are at the end. */
  private readonly detached = new Map<LockRef, Bar>();
  /** The last time of a bar, by lock. */
  readonly lastActive = new Map<LockRef, number>();

  /** @returns whether summaries are missing, so that the sender should repeat its state */
  receive(summary: Summary, now = Date.now()): boolean {
    const { instance: name, number, at } = summary;
    if (!this.instances.has(name) && this.instances.size >= MOST_INSTANCES) return false;
    const instance = this.instances.get(name) ?? this.join(summary, now);
    const isNext = number === instance.number + 1;
    if (number === 0) this.clear(instance);
    Object.assign(instance, { number, summary, lastAt: now, responds: true });
    instance.offset = Math.min(instance.offset, now - at);
    const begun = latestHolds(summary.bars);
    const leftAt = (ref: LockRef): number => Math.min(now, (begun.get(ref) ?? Infinity) + instance.offset);
    for (const report of summary.locks) {
      if (instance.locks.size >= MOST_LOCKS_EACH && !instance.locks.has(report.ref)) continue;
      instance.locks.set(report.ref, report);
      this.touched.add(report.ref);
      this.waits(instance, report, { now, leftAt: leftAt(report.ref) });
    }
    for (const ref of summary.gone) this.left(instance, ref, { now, leftAt: leftAt(ref) });
    if (number === 0)
      for (const ref of instance.waits.keys())
        if (!instance.locks.has(ref)) this.left(instance, ref, { now, leftAt: leftAt(ref) });
    for (const bar of summary.bars) this.drawn(instance, bar);
    return !isNext && number !== 0;
  }

  /** The instance has stopped in order. */
  leave(name: string, now = Date.now()): void {
    const instance = this.instances.get(name);
    if (instance === undefined) return;
    this.silence(instance, now, 'released');
    this.clear(instance);
  }

  /** Ends the bars of instances that do not respond, and forgets what is old. */
  tidy(now = Date.now()): void {
    for (const [name, instance] of this.instances) {
      if (now - instance.lastAt > SILENT_MS && instance.responds) this.silence(instance, instance.lastAt, 'silent');
      if (!instance.responds) this.forgetEnded(instance, now);
      if (now - instance.lastAt < FORGET_MS + WINDOW_MS) continue;
      this.clear(instance);
      this.instances.delete(name);
    }
    if (now - this.tidiedAt > TIDY_MS) this.forgetOld(now);
  }

  private forgetOld(now: number): void {
    this.tidiedAt = now;
    for (const [id, { end }] of this.bars) if (end !== 0 && end < now - WINDOW_MS) this.bars.delete(id);
    const openBars = new Set([...this.bars.values()].filter(({ end }) => end === 0).map(({ ref }) => ref));
    for (const [ref, at] of this.lastActive) if (!openBars.has(ref) && at < now - WINDOW_MS) this.forget(ref);
    if (this.ids.size > 2 * MOST_LOCKS_EACH) this.ids.clear();
  }

  list(): Instance[] {
    return [...this.instances.values()].sort((a, b) => a.label.localeCompare(b.label) || a.place - b.place);
  }

  /** Most rounds change no lock, so the locks are counted after a change only. */
  locks(): LockList {
    if (this.touched.size === 0) return this.counted;
    for (const ref of this.touched) this.merge(ref);
    this.touched.clear();
    const all = [...this.merged.values()];
    const held = all.filter(({ ref, holders }) => holders.length > 0 || this.detached.has(ref)).length;
    return (this.counted = { all, held });
  }

  /** Whether an instance holds the lock or waits for it. */
  has(ref: LockRef): boolean {
    const lock = this.merged.get(ref);
    return lock !== undefined && lock.holders.length + lock.waiting > 0;
  }

  /** Locks that were detached, as far as this page knows. */
  get detachedLocks(): LockRef[] {
    return [...this.detached.keys()];
  }

  /**
   * What the store says about these locks; `undefined` if it knows no holder.
   * @param readAt - the revision when the store was read
   */
  found(holders: ReadonlyMap<LockRef, Elsewhere | undefined>, readAt = this.revision, now = Date.now()): void {
    for (const ref of this.elsewhere.keys())
      if (!holders.has(ref) && !this.detached.has(ref)) this.elsewhere.delete(ref);
    for (const [ref, holder] of holders) {
      const bar = this.detached.get(ref);
      // The answer may be older than a lease that was detached in between.
      if (bar !== undefined && bar.revision > readAt) continue;
      if (holder === undefined) this.elsewhere.delete(ref);
      else if (!isAbout(this.elsewhere.get(ref), holder)) this.elsewhere.set(ref, holder);
      if (bar === undefined) continue;
      if (holder === undefined || holder[2] === 0) this.detachedEnded(ref, now);
      else this.stillDetached(bar);
    }
  }

  private stillDetached(bar: Bar): void {
    const { ref } = bar;
    this.detached.delete(ref);
    this.detached.set(ref, bar);
    const [, until] = this.elsewhere.get(ref)!;
    if (bar.tail === until) return;
    this.touched.add(ref);
    bar.tail = until;
    bar.revision = ++this.revision;
  }

  /** Another hold has continued the lease, or it has ended. */
  private detachedEnded(ref: LockRef, now: number): void {
    this.detached.delete(ref);
    this.touched.add(ref);
    for (const bar of this.barsOf(ref)) {
      if (bar.outcome !== 'detached' || (bar.tail !== 0 && bar.tail <= now)) continue;
      bar.tail = now;
      bar.revision = ++this.revision;
    }
  }

  private merge(ref: LockRef): void {
    let lock: Lock | undefined;
    for (const { place, locks, offset } of this.instances.values()) {
      const report = locks.get(ref);
      if (report === undefined) continue;
      const own = here(report, place, offset);
      lock = lock === undefined ? own : joined(lock, own);
    }
    const bar = this.detached.get(ref);
    if (lock === undefined && bar !== undefined) lock = detachedOnly(bar);
    if (lock === undefined) this.merged.delete(ref);
    else this.merged.set(ref, lock);
  }

  totals(): { waiting: number; waitingSince: number; lost: number } {
    const totals = { waiting: 0, waitingSince: 0, lost: 0 };
    for (const { summary, responds, offset } of this.instances.values()) {
      totals.lost += summary.lost;
      if (!responds) continue;
      totals.waiting += summary.waiting;
      totals.waitingSince = earliest(totals.waitingSince, summary.waitingSince && summary.waitingSince + offset);
    }
    return totals;
  }

  /** The title of a lock of the timeline. */
  titleOf(ref: LockRef): Title {
    return this.titles.get(ref) ?? { names: [], kind: '' };
  }

  barsSince(revision: number, refs: ReadonlySet<LockRef>): Bar[] {
    if (revision === this.revision) return [];
    return [...this.bars.values()].filter((bar) => bar.revision > revision && refs.has(bar.ref));
  }

  barsOf(ref: LockRef): Bar[] {
    return [...this.bars.values()].filter((bar) => bar.ref === ref);
  }

  /** An opaque name of the lock, valid in this process only. */
  idOf(ref: LockRef): string {
    let id = this.ids.get(ref);
    if (id === undefined) {
      id = createHmac('sha256', this.secret).update(ref).digest('base64url').slice(0, 12);
      this.ids.set(ref, id);
    }
    return id;
  }

  /** The lock with this opaque name, if an instance holds it, or if its lease is detached. */
  find(id: string): Lock | undefined {
    const isHeld = ({ ref, holders }: Lock): boolean => holders.length > 0 || (this.elsewhere.get(ref)?.[2] ?? 0) > 0;
    return this.locks().all.find((lock) => isHeld(lock) && this.idOf(lock.ref) === id);
  }

  private join(summary: Summary, now: number): KnownInstance {
    const instance: KnownInstance = {
      ...{ place: this.places++, label: summary.label, responds: true, offset: now - summary.at, lastAt: now },
      ...{ number: -1, summary, locks: new Map(), waits: new Map(), open: new Map() },
    };
    this.instances.set(summary.instance, instance);
    return instance;
  }

  private clear({ locks }: KnownInstance): void {
    for (const ref of locks.keys()) this.touched.add(ref);
    locks.clear();
  }

  private left(instance: KnownInstance, ref: LockRef, times: WaitTimes): void {
    instance.locks.delete(ref);
    this.touched.add(ref);
    this.endWait(instance, ref, changeOf(instance.waits.get(ref), times));
  }

  /** A wait is a bar for each number of waiters. It ends when the hold of a caller begins, as far as that is known. */
  private waits(instance: KnownInstance, { ref, name, waiting, waitingSince }: LockReport, times: WaitTimes): void {
    const { now } = times;
    const known = instance.waits.get(ref);
    const before = known?.count ?? 0;
    if (before === waiting) return;
    if (known !== undefined && waiting > before && now - known.start < TOGETHER_MS) {
      known.count = waiting;
      this.draw(known);
      return;
    }
    const changedAt = waiting < before ? changeOf(known, times) : now;
    this.endWait(instance, ref, changedAt);
    if (waiting === 0) return;
    const start = known === undefined ? Math.min(now, waitingSince + instance.offset) : changedAt;
    const bar: Bar = {
      ...{ id: `w${this.waitNumber++}`, ref, name, place: instance.place, kind: 'wait', start, end: 0 },
      ...{ outcome: 'waiting', count: waiting, tail: 0, revision: 0 },
    };
    instance.waits.set(ref, bar);
    this.draw(bar);
  }

  private endWait(instance: KnownInstance, ref: LockRef, now: number): void {
    const bar = instance.waits.get(ref);
    if (bar === undefined) return;
    instance.waits.delete(ref);
    bar.end = Math.max(now, bar.start + 1);
    this.draw(bar);
  }

  private drawn(instance: KnownInstance, report: BarReport): void {
    const { number, ref, name, kind, start, end, outcome, count } = report;
    const { place, offset } = instance;
    const id = `${place}.${number}`;
    const bar: Bar = {
      ...{ id, ref, name, place, kind, start: start + offset, end: end && end + offset },
      ...{ outcome, count, tail: 0, revision: 0 },
    };
    if (end === 0) instance.open.set(number, bar);
    else instance.open.delete(number);
    const before = this.detached.get(ref);
    if (before !== undefined && kind === 'exclusive' && outcome !== 'refused' && bar.start > before.start) {
      this.elsewhere.delete(ref);
      this.detachedEnded(ref, bar.start);
    }
    this.draw(bar);
    if (outcome === 'detached') this.wasDetached(bar);
  }

  private wasDetached(bar: Bar): void {
    const { ref } = bar;
    if (this.detached.size >= MOST_DETACHED && !this.detached.has(ref)) return;
    this.detached.set(ref, bar);
    this.elsewhere.set(ref, ['', 0, 1]);
    this.touched.add(ref);
  }

  private draw(bar: Bar): void {
    this.bars.delete(bar.id);
    if (this.bars.size >= MOST_BARS) this.bars.delete(this.bars.keys().next().value!);
    bar.revision = ++this.revision;
    this.bars.set(bar.id, bar);
    this.lastActive.set(bar.ref, bar.end || Date.now());
    const { names, kind } = this.titleOf(bar.ref);
    const isHold = bar.kind !== 'wait' && bar.outcome !== 'refused';
    this.titles.set(bar.ref, {
      names: names.includes(bar.name) ? names : [...names, bar.name].slice(-MOST_NAMES),
      kind: isHold ? bar.kind : kind,
    });
  }

  /** Its locks stay until their leases have ended, as in Redis. */
  private silence(instance: KnownInstance, at: number, outcome: 'silent' | 'released'): void {
    instance.responds = false;
    instance.number = -1;
    for (const bar of instance.open.values()) {
      bar.end = Math.max(at, bar.start + 1);
      bar.outcome = outcome;
      if (outcome === 'silent') bar.tail = (instance.locks.get(bar.ref)?.until ?? -instance.offset) + instance.offset;
      this.draw(bar);
    }
    instance.open.clear();
    for (const ref of [...instance.waits.keys()]) this.endWait(instance, ref, at);
    for (const report of instance.locks.values()) {
      instance.locks.set(report.ref, { ...report, waiting: 0, waitingSince: 0 });
      this.touched.add(report.ref);
    }
  }

  private forget(ref: LockRef): void {
    this.lastActive.delete(ref);
    this.titles.delete(ref);
  }

  private forgetEnded({ locks, offset }: KnownInstance, now: number): void {
    for (const { ref, until, holders } of locks.values()) {
      if (holders > 0 && until + offset >= now) continue;
      locks.delete(ref);
      this.touched.add(ref);
    }
  }
}

interface WaitTimes {
  readonly now: number;
  /** When the latest hold of the lock at this instance began, at most `now`. */
  readonly leftAt: number;
}

/** Whether both describe one holder. The store says how much time is left, so the end that follows from it varies a little. */
const isAbout = (known: Elsewhere | undefined, [label, until, detached]: Elsewhere): boolean =>
  known !== undefined && known[0] === label && known[2] === detached && Math.abs(known[1] - until) < SAME_END_MS;

/** A lock that no instance holds or waits for. */
const detachedOnly = ({ ref, name, kind, tail }: Bar): Lock => ({
  ...{ ref, name, kind, holders: [], since: 0, until: tail, waiting: 0, waitingSince: 0 },
});

/** When the last caller left the wait; an earlier hold says nothing about it. */
const changeOf = (wait: Bar | undefined, { now, leftAt }: WaitTimes): number =>
  wait !== undefined && leftAt > wait.start ? leftAt : now;

/** When the latest hold of each lock began, on the clock of the sender. */
function latestHolds(bars: readonly BarReport[]): Map<LockRef, number> {
  const latest = new Map<LockRef, number>();
  for (const { ref, start, outcome } of bars)
    if (outcome !== 'refused') latest.set(ref, Math.max(start, latest.get(ref) ?? 0));
  return latest;
}

/** The report with the times of this process. */
function here(
  { ref, name, kind, holders, since, until, waiting, waitingSince }: LockReport,
  place: number,
  offset: number,
) {
  const moved = (at: number): number => at && at + offset;
  const held = holders > 0 ? ([[place, holders]] as const) : [];
  return {
    ...{ ref, name, kind, holders: held, since: moved(since), until: moved(until) },
    ...{ waiting, waitingSince: moved(waitingSince) },
  };
}

function joined(a: Lock, b: Lock): Lock {
  const holder = a.holders.length > 0 ? a : b;
  return {
    ...{ ref: a.ref, name: holder.name, kind: holder.kind, holders: [...a.holders, ...b.holders] },
    ...{ since: earliest(a.since, b.since), until: Math.max(a.until, b.until) },
    ...{ waiting: a.waiting + b.waiting, waitingSince: earliest(a.waitingSince, b.waitingSince) },
  };
}

/** The key of the lock, for pages that may show it. */
export const keyOf = (ref: LockRef): string => partsOf(ref)[1];
