import type { LockPresence } from '../engine/census.js';
import { DEFAULT_CONNECTION } from '../locks/default-connection.js';
import { isTickMarker } from '../locks/tick.js';
import type { EventSubject, LockEvent, LockEvents } from '../events.js';
import type { BarReport, LockRef, LockReport, Outcome, Summary } from './summary.js';

/** What the recorder reads of a lock engine. */
export interface RecordedEngine {
  census(): LockPresence[];
  readonly clock: { now(): number };
}

/** Locks in one summary; more changes wait for the next one. */
const MOST_LOCKS = 300;
/** New bars in one summary, those of watched locks first. */
const MOST_BARS = 100;
/** Bars that are remembered until the next summary; the page shows a part of them only. */
const MOST_REMEMBERED = 5_000;

const REFUSALS_MS = 1_000;

interface Entry {
  readonly ref: LockRef;
  /** The round that has seen the lock. */
  round: number;
  presence: LockPresence;
  report: LockReport;
  /** The report joins several kinds. */
  isMixed: boolean;
  /** The latest report that a summary contained. */
  sent: LockReport | undefined;
}

interface RecordedBar {
  readonly number: number;
  readonly ref: LockRef;
  readonly name: string;
  readonly kind: string;
  readonly start: number;
  end: number;
  outcome: Outcome;
  count: number;
  /** A summary contained it, so its end must follow. */
  sent: boolean;
}

/** Most connections have a name that needs no escape. */
const refOf = (connection: string, key: string): LockRef =>
  /^\w*$/.test(connection) ? `${connection} ${key}` : `${encodeURIComponent(connection)} ${key}`;

/** The connection and key of a lock. */
export function partsOf(ref: LockRef): readonly [connection: string, key: string] {
  const end = ref.indexOf(' ');
  try {
    return [decodeURIComponent(ref.slice(0, end)), ref.slice(end + 1)];
  } catch {
    return ['', ''];
  }
}

/**
 * Records what the locks of this process do while a page is open, and nothing otherwise. The state comes from the engines, so
 * it is complete; events only tell when holds begin and end.
 */
export class Recorder {
  /** The locks of each connection, by key. */
  private readonly known = new Map<string, Map<string, Entry>>();
  private rounds = 0;
  private readonly open = new Map<object, RecordedBar>();
  /** Bars of holds that began before the recorder, by lock. */
  private readonly earlier = new Map<
    LockRef,
    { readonly connection: string; readonly key: string; readonly bar: RecordedBar }
  >();
  private changed = new Set<RecordedBar>();
  /** The latest refusals, by code and lock. */
  private readonly refusals = new Map<string, RecordedBar>();
  private stopWatching: (() => void) | undefined;
  private barNumber = 0;
  private summaryNumber = 0;
  private offset = 0;
  private lost = 0;

  constructor(
    private readonly engines: ReadonlyMap<string, RecordedEngine>,
    private readonly events: LockEvents,
    private readonly self: { readonly instance: string; readonly label: string },
  ) {
    events.watch(() => (this.lost += 1), 'lost');
  }

  get active(): boolean {
    return this.stopWatching !== undefined;
  }

  start(): void {
    if (this.active) return;
    this.offset = Date.now() - this.now();
    const types = ['acquired', 'released', 'lost', 'contended', 'refused'] as const;
    this.stopWatching = this.events.watch(
      (event, subject) => {
        // The page shows the lock of the job, and would show a new lock for each tick.
        if (subject !== undefined && !isTickMarker(subject.key)) this.happened(event, subject);
      },
      ...types,
    );
    this.summaryNumber = 0;
    for (const [connection, engine] of this.engines) {
      for (const { key, name, kind, holders, since } of engine.census()) {
        if (holders === 0) continue;
        const ref = refOf(connection, key);
        this.earlier.set(ref, { connection, key, bar: this.begin(ref, name, kind, since) });
      }
    }
  }

  stop(): void {
    this.stopWatching?.();
    this.stopWatching = undefined;
    this.open.clear();
    this.earlier.clear();
    this.changed.clear();
    this.refusals.clear();
    this.known.clear();
  }

  /** The next summary contains the full state. */
  restart(): void {
    this.summaryNumber = 0;
    for (const known of this.known.values()) for (const entry of known.values()) entry.sent = undefined;
    for (const { bar } of this.earlier.values()) this.changed.add(bar);
    for (const bar of this.open.values()) if (this.changed.size < MOST_BARS) this.changed.add(bar);
  }

  /** The last summary contained no change and was not sent, so the next one has its number. */
  skip(): void {
    this.summaryNumber -= 1;
  }

  /** Records work that holds no lock. */
  begun(name: string): () => void {
    if (!this.active) return () => undefined;
    const subject = {};
    this.open.set(subject, this.begin(refOf('', name), name, 'unlocked', this.now()));
    return () => this.ended(subject, 'released');
  }

  /** The changes since the previous summary. */
  collect(watched: ReadonlySet<LockRef>): Summary {
    this.look();
    const locks: LockReport[] = [];
    const gone: LockRef[] = [];
    let [waiting, waitingSince] = [0, 0];
    for (const known of this.known.values()) {
      for (const entry of known.values()) {
        if (entry.round !== this.rounds) {
          if (gone.length === MOST_LOCKS) continue;
          known.delete(entry.presence.key);
          if (entry.sent !== undefined) gone.push(entry.ref);
          continue;
        }
        const { report, sent } = entry;
        waiting += report.waiting;
        waitingSince = earliest(waitingSince, report.waitingSince);
        if (report === sent || locks.length === MOST_LOCKS) continue;
        if (sent === undefined || differs(sent, report)) locks.push(report);
        entry.sent = report;
      }
    }
    this.endEarlier();
    return {
      ...this.self,
      number: this.summaryNumber++,
      at: this.epoch(this.now()),
      ...{ locks, gone, bars: this.takeBars(watched), waiting, waitingSince, lost: this.lost },
    };
  }

  /** Reads the state of all engines. A lock that has not changed keeps its report, because most locks do not change. */
  private look(): void {
    this.rounds += 1;
    for (const [connection, engine] of this.engines) {
      const known = this.known.get(connection) ?? new Map<string, Entry>();
      this.known.set(connection, known);
      for (const presence of engine.census()) {
        if (presence.holders + presence.waiting > 0) this.see(known, connection, presence);
      }
    }
  }

  private see(known: Map<string, Entry>, connection: string, presence: LockPresence): void {
    const entry = known.get(presence.key);
    if (entry === undefined) {
      const ref = refOf(connection, presence.key);
      const report = this.reportOf(ref, presence);
      known.set(presence.key, { ref, round: this.rounds, presence, report, isMixed: false, sent: undefined });
    } else if (entry.round === this.rounds) {
      // One key may have holders and waiters of different kinds.
      entry.isMixed = true;
      entry.report = merged(entry.report, this.reportOf(entry.ref, presence));
    } else {
      entry.round = this.rounds;
      if (!entry.isMixed && isSame(entry.presence, presence)) return;
      entry.isMixed = false;
      entry.presence = presence;
      entry.report = this.reportOf(entry.ref, presence);
    }
  }

  private reportOf(ref: LockRef, presence: LockPresence): LockReport {
    return {
      ref,
      name: presence.name,
      kind: presence.kind,
      holders: presence.holders,
      since: this.epoch(presence.since),
      until: this.epoch(presence.until),
      waiting: presence.waiting,
      waitingSince: this.epoch(presence.waitingSince),
    };
  }

  private happened({ type, name, error, detached }: LockEvent, subject: EventSubject): void {
    const ref = refOf(this.connectionOf(subject.key), subject.key);
    if (type === 'acquired') {
      this.earlierEnded(ref);
      this.open.set(subject, this.begin(ref, name, laneOf(subject.options.kind), this.now()));
    } else if (type === 'released' || type === 'lost') {
      const outcome = detached === true ? 'detached' : type;
      if (!this.ended(subject, outcome)) this.earlierEnded(ref, outcome);
    } else this.refused(ref, name, (error as { code?: string } | undefined)?.code ?? '');
  }

  /** Events do not name their connection. */
  private connectionOf(key: string): string {
    for (const [connection, known] of this.known) if (known.has(key)) return connection;
    return DEFAULT_CONNECTION;
  }

  private begin(ref: LockRef, name: string, kind: string, since: number): RecordedBar {
    const bar: RecordedBar = {
      ...{ number: this.barNumber++, ref, name, kind, start: this.epoch(since), end: 0 },
      ...{ outcome: 'open', count: 1, sent: false },
    };
    if (this.changed.size < MOST_REMEMBERED) this.changed.add(bar);
    return bar;
  }

  private ended(subject: object, outcome: Outcome): boolean {
    const bar = this.open.get(subject);
    if (bar === undefined) return false;
    this.open.delete(subject);
    this.finish(bar, outcome);
    return true;
  }

  private finish(bar: RecordedBar, outcome: Outcome): void {
    bar.end = Math.max(bar.start + 1, this.epoch(this.now()));
    bar.outcome = outcome;
    if (bar.sent) this.changed.add(bar);
  }

  /** Refusals of one lock within a second are one bar. */
  private refused(ref: LockRef, name: string, code: string): void {
    const known = this.refusals.get(`${code} ${ref}`);
    if (known !== undefined && this.epoch(this.now()) - known.start < REFUSALS_MS) {
      known.count += 1;
      this.changed.add(known);
      return;
    }
    const bar = this.begin(ref, name, code, this.now());
    bar.end = bar.start + 1;
    bar.outcome = 'refused';
    if (this.changed.has(bar)) this.refusals.set(`${code} ${ref}`, bar);
  }

  private earlierEnded(ref: LockRef, outcome: Outcome = 'released'): void {
    const earlier = this.earlier.get(ref);
    if (earlier === undefined) return;
    // Shared kinds: another holder may have ended, so the state decides. Only the event knows of a detached lease.
    if (earlier.bar.kind !== 'exclusive') {
      if (outcome === 'detached') this.finish(this.begin(ref, earlier.bar.name, earlier.bar.kind, this.now()), outcome);
      return;
    }
    this.earlier.delete(ref);
    this.finish(earlier.bar, outcome);
  }

  private endEarlier(): void {
    for (const [ref, { connection, key, bar }] of this.earlier) {
      const report = this.known.get(connection)?.get(key)?.report;
      if (report !== undefined && report.holders > 0 && report.since === bar.start) continue;
      this.earlier.delete(ref);
      this.finish(bar, 'released');
    }
  }

  private takeBars(watched: ReadonlySet<LockRef>): BarReport[] {
    const all = [...this.changed];
    this.changed = new Set();
    if (this.refusals.size > MOST_BARS) this.refusals.clear();
    const old = all.filter(({ sent }) => sent);
    const first = all.filter(({ sent, ref }) => !sent && watched.has(ref)).slice(-MOST_BARS);
    const others = all.filter(({ sent, ref }) => !sent && !watched.has(ref)).slice(0, MOST_BARS - first.length);
    const taken = [...old, ...first, ...others];
    for (const bar of taken) bar.sent = true;
    return taken.map(({ number, ref, name, kind, start, end, outcome, count }) => {
      return { number, ref, name, kind, start, end, outcome, count };
    });
  }

  private now(): number {
    const [engine] = this.engines.values();
    return engine.clock.now();
  }

  /** 0 for a time that does not exist. */
  private epoch(at: number): number {
    return Number.isFinite(at) ? Math.max(1, Math.round(at + this.offset)) : 0;
  }
}

function differs(a: LockReport, b: LockReport): boolean {
  return (
    a.holders !== b.holders ||
    a.waiting !== b.waiting ||
    a.since !== b.since ||
    a.until !== b.until ||
    a.waitingSince !== b.waitingSince ||
    a.name !== b.name
  );
}

function isSame(a: LockPresence, b: LockPresence): boolean {
  return (
    a.holders === b.holders &&
    a.waiting === b.waiting &&
    a.since === b.since &&
    a.until === b.until &&
    a.waitingSince === b.waitingSince &&
    a.kind === b.kind &&
    a.name === b.name
  );
}

function merged(a: LockReport, b: LockReport): LockReport {
  const holder = a.holders > 0 ? a : b;
  return {
    ...holder,
    holders: a.holders + b.holders,
    since: earliest(a.since, b.since),
    until: Math.max(a.until, b.until),
    waiting: a.waiting + b.waiting,
    waitingSince: earliest(a.waitingSince, b.waitingSince),
  };
}

/** The earlier of two times; 0 is none. */
export const earliest = (a: number, b: number): number => (a === 0 || b === 0 ? a + b : Math.min(a, b));

const laneOf = (kind: string): string => (kind === 'write' ? 'exclusive' : kind);
