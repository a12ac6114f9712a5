import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import { type BeforeApplicationShutdown, Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';

import type { LockEngine } from '../engine/lock-engine.js';
import { isLockError } from '../errors.js';
import { LockEvents } from '../events.js';
import { LOCK_ENGINES } from '../nest/tokens.js';
import { outside } from '../runtime/outside.js';
import type { LockHints } from '../store/lock-store.js';
import { Board, type Elsewhere, type LockList } from './board.js';
import type { LockDashboardOptions } from './dashboard-options.js';
import { PageView, type ViewRound, type ViewDelta, type ViewRequest } from './page-view.js';
import { partsOf, Recorder } from './recorder.js';
import { type LockRef, read, write } from './summary.js';

export const DASHBOARD_OPTIONS = Symbol.for('nestjs-distribute-lock: dashboard options');

const ROUND_MS = 300;
/** An instance with a page asks the others this often. */
const ASK_MS = 4_000;
/** Without a request for this time, an instance sends nothing more. */
const REQUESTED_FOR_MS = 10_000;
/** The longest pause between two summaries. */
const HEARTBEAT_MS = 1_000;
/** How often the store is read for detached leases, and for locks with waiters and without a known holder. */
const LOOK_MS = 1_000;
const MOST_PAGES = 20;
const MOST_WATCHED = 40;
/** Locks with detached leases that are read in one round, although no page shows them. */
const MOST_HIDDEN = 20;

/** Receives the changes for one page. */
export interface PageClient {
  /** Whether the client has received earlier messages. */
  readonly ready: boolean;
  send(event: string, words: ViewDelta): void;
  end(): void;
}

interface Page {
  readonly view: PageView;
  readonly client: PageClient;
  sentAt: number;
}

/**
 * The data of the page. While no page is open, it does nothing and sends nothing.
 * @public
 */
@Injectable()
export class LockDashboard implements OnModuleInit, BeforeApplicationShutdown {
  private readonly logger = new Logger('LockDashboard');
  private readonly id = randomUUID();
  private readonly pages = new Set<Page>();
  /** Until when other instances have requested summaries, with the locks that they watch. */
  private readonly viewers = new Map<string, { until: number; refs: readonly LockRef[] }>();
  private engines: ReadonlyMap<string, LockEngine> = new Map();
  private recorder: Recorder | undefined;
  private board: Board | undefined;
  private hints: LockHints | undefined;
  private timer: NodeJS.Timeout | undefined;
  private requestedAt = 0;
  private publishedAt = 0;
  /** `Infinity` while the answers are awaited. */
  private lookedAt = 0;
  private watched = '';
  private again = false;
  private closed = false;

  /** @internal */
  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: LockDashboardOptions,
    @Inject(LockEvents) private readonly events: LockEvents,
    @Inject(ModuleRef) private readonly modules: ModuleRef,
  ) {}

  /** @internal */
  onModuleInit(): void {
    this.engines = this.modules.get<ReadonlyMap<string, LockEngine>>(LOCK_ENGINES, { strict: false });
    const label = this.options.instance ?? `${hostname()} ${process.pid}`;
    this.logger.log(`The name of this instance on the page is "${label}".`);
    this.recorder = new Recorder(this.engines, this.events, { instance: this.id, label });
    for (const engine of this.engines.values()) this.hints ??= engine.hints((text) => this.receive(text));
    // The page of another instance shows this one only after it has subscribed. A failure here must not stop the application.
    void this.hints?.open().catch((error: Error) => {
      this.logger.warn(
        `The page shows this instance only, because other instances cannot be reached: ${error.message}`,
      );
    });
  }

  /** @internal */
  beforeApplicationShutdown(): void {
    this.closed = true;
    for (const { client } of this.pages) client.end();
    this.pages.clear();
    if (this.recorder?.active === true) this.publish({ type: 'bye', viewer: this.id, stops: true });
    this.pause();
    this.hints?.close();
  }

  /**
   * Shows `work` as a bar without a lock, to compare; it never waits for others.
   *
   * @example
   * ```ts
   * await this.dashboard.showUnlocked('without a lock', () => this.work());
   * ```
   */
  async showUnlocked<T>(name: string, work: () => Promise<T>): Promise<T> {
    const end = this.recorder?.begun(name);
    try {
      return await work();
    } finally {
      end?.();
    }
  }

  /** Whether another page may open. @internal */
  get accepts(): boolean {
    return !this.closed && this.pages.size < MOST_PAGES;
  }

  /** @internal @returns a function that closes the page */
  open(request: ViewRequest, client: PageClient): () => void {
    this.board ??= new Board();
    const { showKeys = false, allowForceRelease = false } = this.options;
    const page: Page = { view: new PageView(this.board, request, { showKeys, allowForceRelease }), client, sentAt: 0 };
    this.pages.add(page);
    client.send('hello', { t: Date.now(), showKeys, allowForceRelease });
    this.resume();
    if (this.pages.size === 1) {
      // The board is new, but the recorder may have run for the page of another instance.
      this.recorder!.restart();
      this.ask(true);
    }
    this.round();
    return () => this.closePage(page);
  }

  /**
   * Ends the leases of the lock with this opaque id.
   * @internal
   */
  async forceRelease(id: string, by: string): Promise<'released' | 'free' | 'unknown'> {
    const lock = this.board?.find(id);
    if (lock === undefined) return 'unknown';
    const [connection, key] = partsOf(lock.ref);
    const engine = this.engines.get(connection);
    if (engine === undefined) return 'unknown';
    // Hints are never trusted: only the store says whether an instance of this application holds the lock.
    const { held, kind } = await engine.inspect(key);
    if (!held || kind === 'foreign') return 'free';
    const released = await engine.forceRelease(key);
    const shown = this.options.showKeys === true ? `"${key}"` : `with id ${id}`;
    this.logger.warn(
      `The lock ${shown} was released by force at the request of ${by}: ${released ? 'done' : 'it was free'}.`,
    );
    return released ? 'released' : 'free';
  }

  private closePage(page: Page): void {
    if (!this.pages.delete(page) || this.pages.size > 0) return;
    this.publish({ type: 'bye', viewer: this.id, stops: false });
    this.board = undefined;
  }

  private receive(text: string): void {
    const hint = read(text);
    if (hint === undefined || this.closed) return;
    if (hint.type === 'summary') {
      if (hint.summary.instance === this.id || this.pages.size === 0) return;
      this.again = this.board!.receive(hint.summary) || this.again;
    } else if (hint.viewer !== this.id) {
      if (hint.type === 'ask') this.requested(hint.viewer, hint.refs, hint.again);
      else {
        this.viewers.delete(hint.viewer);
        if (hint.stops) this.board?.leave(hint.viewer);
      }
    }
  }

  private requested(viewer: string, refs: readonly LockRef[], again: boolean): void {
    if (!this.viewers.has(viewer) && this.viewers.size >= MOST_PAGES) return;
    this.viewers.set(viewer, { until: Date.now() + REQUESTED_FOR_MS, refs: refs.slice(0, MOST_WATCHED) });
    this.resume();
    if (again) this.recorder!.restart();
  }

  /** Starts to record, if it does not yet. */
  private resume(): void {
    this.recorder!.start();
    this.timer ??= outside(() => setInterval(() => this.round(), ROUND_MS)).unref();
  }

  private pause(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.recorder?.stop();
    this.viewers.clear();
  }

  private round(): void {
    const now = Date.now();
    for (const [viewer, { until }] of this.viewers) if (until < now) this.viewers.delete(viewer);
    if (this.pages.size + this.viewers.size === 0) return this.pause();
    this.report(now);
    if (this.pages.size === 0 || this.board === undefined) return;
    const { board } = this;
    board.tidy(now);
    const locks = board.locks();
    this.look(board, locks, now);
    const round: ViewRound = { now, locks, instances: board.list(), totals: board.totals() };
    for (const page of this.pages) sendChanges(page, round);
    if (now - this.requestedAt > ASK_MS || this.again || this.watchedRefs().join('\n') !== this.watched)
      this.ask(this.again);
  }

  /** Reads the holders that no instance reports: detached leases, foreign clients and instances without this module. */
  private look(board: Board, { all }: LockList, now: number): void {
    if (now - this.lookedAt < LOOK_MS) return;
    this.lookedAt = Infinity;
    const shown = new Set(
      [...this.pages].flatMap(({ view }) => view.shown.concat(view.watched)).slice(0, MOST_WATCHED),
    );
    const unknown = all.filter(({ ref, holders, waiting }) => waiting > 0 && holders.length === 0 && shown.has(ref));
    const { detachedLocks } = board;
    const hidden = detachedLocks.filter((ref) => !shown.has(ref)).slice(0, MOST_HIDDEN);
    const refs = new Set([
      ...unknown.map(({ ref }) => ref),
      ...detachedLocks.filter((ref) => shown.has(ref)),
      ...hidden,
    ]);
    const { elsewhere: known, revision } = board;
    void Promise.all([...refs].map(async (ref) => [ref, await this.holderOf(ref, known.get(ref))] as const)).then(
      (found) => {
        this.lookedAt = Date.now();
        board.found(new Map(found), revision);
      },
    );
  }

  /** `known` if the store does not answer; `undefined` if the lock is free, or the store cannot say. */
  private async holderOf(ref: LockRef, known: Elsewhere | undefined): Promise<Elsewhere | undefined> {
    const [connection, key] = partsOf(ref);
    try {
      const { held, holders, remainingMs } = await this.engines.get(connection)!.inspect(key);
      if (!held) return undefined;
      const { host, pid } = holders.find((holder) => holder.host !== undefined) ?? {};
      const detached = holders.filter((holder) => holder.detached === true).length;
      return [host === undefined ? '' : `${host} ${pid}`, remainingMs < 0 ? 0 : Date.now() + remainingMs, detached];
    } catch (error) {
      return isLockError(error, 'LOCK_UNAVAILABLE') ? known : undefined;
    }
  }

  /** Sends the changes of this instance to the own board, and to the instances that have requested them. */
  private report(now: number): void {
    const requested = [...this.viewers.values()].flatMap(({ refs }) => refs);
    const summary = this.recorder!.collect(new Set([...requested, ...this.watchedRefs()]));
    // At the present time: an earlier one would move all bars of this instance, as its summary would come from the future.
    this.board?.receive(summary);
    if (this.viewers.size === 0) return;
    const changes = summary.locks.length + summary.gone.length + summary.bars.length;
    if (changes === 0 && summary.number !== 0 && now - this.publishedAt < HEARTBEAT_MS) return this.recorder!.skip();
    this.publishedAt = now;
    this.publish({ type: 'summary', summary });
  }

  private watchedRefs(): LockRef[] {
    const refs = [...this.pages].flatMap(({ view }) => view.watched);
    return [...new Set(refs)].slice(0, MOST_WATCHED);
  }

  private ask(again: boolean): void {
    const refs = this.watchedRefs();
    this.requestedAt = Date.now();
    this.again = false;
    this.watched = refs.join('\n');
    this.publish({ type: 'ask', viewer: this.id, refs, again });
  }

  private publish(hint: Parameters<typeof write>[0]): void {
    this.hints?.publish(write(hint));
  }
}

/** A page gets a message each second at least, so that it can tell a silent server from a quiet one. */
function sendChanges(page: Page, round: ViewRound): void {
  const { view, client } = page;
  if (!client.ready) return;
  const delta = view.delta(round);
  if (Object.keys(delta).length === 1 && round.now - page.sentAt < HEARTBEAT_MS) return;
  page.sentAt = round.now;
  client.send('delta', delta);
}
