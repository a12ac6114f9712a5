import { type Bar, type Board, type Elsewhere, type Instance, keyOf, type Lock, type LockList } from './board.js';
import type { LockRef } from './summary.js';

/** Rows of one page of the table. */
const ROWS = 15;
/** Locks that the timeline shows. */
const LANES = 6;
/** Bars in one message; more follow later, and the oldest are left out. */
const MOST_BARS = 80;
const LONGEST_FILTER = 100;

const SORTS = {
  name: (a, b) => a.name.localeCompare(b.name),
  kind: (a, b) => a.kind.localeCompare(b.kind),
  holder: (a, b) => (a.holders[0]?.[0] ?? Infinity) - (b.holders[0]?.[0] ?? Infinity),
  age: (a, b) => (b.since || Infinity) - (a.since || Infinity),
  left: (a, b) => (a.until || Infinity) - (b.until || Infinity),
  waiting: (a, b) => a.waiting - b.waiting,
} satisfies Record<string, (a: Lock, b: Lock) => number>;

/** The part of the state that one open page shows. */
export interface ViewRequest {
  readonly page: number;
  readonly sort: keyof typeof SORTS;
  readonly descending: boolean;
  readonly filter: string;
}

/** Reads a query; words that are not known count as absent. */
export function viewRequest({ page, sort, dir, q }: Readonly<Record<string, unknown>>): ViewRequest {
  const number = typeof page === 'string' && /^\d{1,5}$/.test(page) ? Number(page) : 0;
  const known = typeof sort === 'string' && Object.hasOwn(SORTS, sort);
  return {
    page: number,
    sort: known ? (sort as keyof typeof SORTS) : 'age',
    descending: dir !== 'asc',
    filter: typeof q === 'string' ? q.slice(0, LONGEST_FILTER).toLowerCase() : '',
  };
}

/** What the page may contain. */
export interface ViewRights {
  readonly showKeys: boolean;
  readonly allowForceRelease: boolean;
}

/** The state that all pages share in one round. */
export interface ViewRound {
  readonly now: number;
  readonly locks: LockList;
  readonly instances: readonly Instance[];
  readonly totals: { readonly waiting: number; readonly waitingSince: number; readonly lost: number };
}

/** The words of one event for the page; only what has changed since the previous one. */
export type ViewDelta = Readonly<Record<string, unknown>>;

/** One open page: remembers what the page knows, so that each message contains changes only. */
export class PageView {
  private readonly known = new Map<string, string>();
  private readonly rows = new Map<string, string>();
  private chosen: readonly Lock[] = [];
  /** The list from which they were chosen. */
  private chosenFrom: readonly Lock[] | undefined;
  private lanes: LockRef[] = [];
  private revision = 0;
  /** Locks of the timeline whose earlier bars the page does not have. */
  private freshLanes = new Set<LockRef>();

  constructor(
    private readonly board: Board,
    private readonly request: ViewRequest,
    private readonly rights: ViewRights,
  ) {}

  get watched(): readonly LockRef[] {
    return this.lanes;
  }

  /** Locks in the table. */
  shown: readonly LockRef[] = [];

  delta(round: ViewRound): ViewDelta {
    const { now, locks, instances, totals } = round;
    const { all, held } = locks;
    const chosen = this.choose(all);
    this.chooseLanes();
    const shown = this.page(chosen);
    this.shown = shown.map(({ ref }) => ref);
    return defined({
      t: now,
      cards: this.news('cards', [held, totals.waiting, totals.waitingSince, totals.lost]),
      instances: this.news(
        'instances',
        instances.map(({ place, label, responds }) => [place, label, responds]),
      ),
      total: this.news('total', [chosen.length, all.length]),
      order: this.news(
        'order',
        this.shown.map((ref) => this.board.idOf(ref)),
      ),
      rows: this.newRows(shown),
      lanes: this.news(
        'lanes',
        this.lanes.map((ref) => this.title(ref)),
      ),
      ...this.newBars(),
    });
  }

  /** The locks that fit the filter, in order. Most rounds change no lock, and sorting is the largest part of a round. */
  private choose(all: readonly Lock[]): readonly Lock[] {
    if (all === this.chosenFrom) return this.chosen;
    const { sort, descending } = this.request;
    const direction = descending ? -1 : 1;
    const tie = (a: Lock, b: Lock): number => (a.ref < b.ref ? -1 : 1);
    // The title of a row is its key, where keys are shown.
    const order = sort === 'name' && this.rights.showKeys ? tie : SORTS[sort];
    const chosen = all.filter(({ ref, name }) => this.fits(ref, name));
    this.chosenFrom = all;
    return (this.chosen = chosen.sort((a, b) => direction * order(a, b) || tie(a, b)));
  }

  private page(chosen: readonly Lock[]): readonly Lock[] {
    const last = Math.max(0, Math.ceil(chosen.length / ROWS) - 1);
    const first = Math.min(this.request.page, last) * ROWS;
    return chosen.slice(first, first + ROWS);
  }

  private newRows(shown: readonly Lock[]): unknown[] | undefined {
    const news: unknown[] = [];
    const present = new Set<string>();
    for (const lock of shown) {
      const { ref, name, kind, holders, since, until, waiting } = lock;
      const id = this.board.idOf(ref);
      const row = [id, name, this.shownKey(ref), kind, holders, since, until, waiting, this.elsewhere(ref)];
      const text = JSON.stringify(row);
      present.add(id);
      if (this.rows.get(id) === text) continue;
      this.rows.set(id, text);
      news.push(row);
    }
    for (const id of this.rows.keys()) if (!present.has(id)) this.rows.delete(id);
    return news.length === 0 ? undefined : news;
  }

  /** A lock stays on the timeline as long as something happens; the places of others go to the most recent locks. */
  private chooseLanes(): void {
    const { board } = this;
    const { lastActive } = board;
    const fits = (ref: LockRef): boolean =>
      (board.has(ref) || lastActive.has(ref)) && this.fits(ref, board.titleOf(ref).names.join(', '));
    const kept = this.lanes.filter(fits);
    if (kept.length < LANES) {
      const recent = [...lastActive].filter(([ref]) => !kept.includes(ref) && fits(ref));
      recent.sort(([, a], [, b]) => b - a);
      for (const [ref] of recent.slice(0, LANES - kept.length)) {
        kept.push(ref);
        this.freshLanes.add(ref);
      }
    }
    this.lanes = kept;
  }

  private newBars(): { bars?: unknown[]; hidden?: number } {
    const watched = new Set(this.lanes);
    const fresh = [...this.freshLanes].flatMap((ref) => this.board.barsOf(ref));
    this.freshLanes = new Set();
    const later = this.board.barsSince(this.revision, watched);
    this.revision = this.board.revision;
    const all = [...new Set([...fresh, ...later])];
    if (all.length === 0) return {};
    // An end must not be left out, because the page has the beginning.
    const ends = all.filter(({ end }) => end !== 0).slice(-MOST_BARS);
    const open = all.filter(({ end }) => end === 0).slice(-MOST_BARS);
    return { bars: [...ends, ...open].map((bar) => this.words(bar)) };
  }

  private words({ id, ref, place, kind, start, end, outcome, count, tail }: Bar): unknown[] {
    return [id, this.board.idOf(ref), place, kind, start, end, outcome, count, tail];
  }

  private title(ref: LockRef): unknown[] {
    const { names, kind } = this.board.titleOf(ref);
    return [this.board.idOf(ref), names.join(', '), this.shownKey(ref), kind, this.elsewhere(ref)];
  }

  private elsewhere(ref: LockRef): Elsewhere | null {
    return this.board.elsewhere.get(ref) ?? null;
  }

  private shownKey(ref: LockRef): string {
    return this.rights.showKeys ? keyOf(ref) : '';
  }

  private fits(ref: LockRef, name: string): boolean {
    const { filter } = this.request;
    if (filter === '' || name.toLowerCase().includes(filter)) return true;
    return this.shownKey(ref).toLowerCase().includes(filter) || this.board.idOf(ref).toLowerCase() === filter;
  }

  /** The value, if it differs from the previous one. */
  private news<T>(name: string, value: T): T | undefined {
    const text = JSON.stringify(value);
    if (this.known.get(name) === text) return undefined;
    this.known.set(name, text);
    return value;
  }
}

const defined = (words: Readonly<Record<string, unknown>>): ViewDelta =>
  Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined));
