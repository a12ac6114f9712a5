import { lockChannels } from '../../channels.js';
import type { Clock } from '../../runtime/clock.js';
import { LONGEST_RETRY_MS } from '../../runtime/retries.js';
import { LONGEST_MS, type Timers } from '../../runtime/timers.js';
import {
  whenAnswered,
  isLost,
  type LockStore,
  lossOfAnswer,
  type RenewAnswer,
  type RenewRequest,
  mayTakeEffect,
} from '../../store/lock-store.js';
import { EARLY_MS, type Grant, type Holder, LIMIT_TOLERANCE_MS, type Renewal } from './grant.js';
import { type Loss, lossAfterClose, lossByTime, type Overdue } from './loss.js';

/**
 * Renews every grant of the process at a third of its ttl; grants of one tick share one call. Notifies the holder when a grant
 * is lost. Retries a failed renewal while the grant can still be proven.
 */
export class Watchdog {
  private batch: Grant[] = [];
  /** Why a lease ends when its time has passed. */
  private why: (overdue: Overdue) => Loss = lossByTime;

  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly onLost: (grant: Grant, loss: Loss) => void,
    /** Age at which a hold is reported; `Infinity` disables reports. */
    private readonly warnAfterMs = Infinity,
  ) {}

  /** Schedules the next check of the grant, on the terms of its present holder. */
  watch(grant: Grant, now = this.clock.now()): void {
    // A new holder must not bring a pending retry forward.
    if (grant.failures > 0 && grant.isScheduled) return;
    this.timers.add(grant, this.delayMs(grant, grant.holder, now), now);
  }

  /**
   * A holder joined those of a shared grant. The check that is scheduled serves the others, so only this one is considered:
   * thousands of readers may join at once.
   */
  joined(grant: Grant, holder: Holder, now = this.clock.now()): void {
    if (this.why === lossAfterClose) return this.guardEnd(grant);
    if (!grant.isScheduled) return this.watch(grant, now);
    // A new holder must not bring a pending retry forward, unless its lease ends before.
    const delay = grant.failures > 0 ? untilEnd(grant, now, holder) : this.delayMs(grant, holder, now);
    if (now + delay < grant.dueAt) this.timers.add(grant, delay, now);
  }

  /** Milliseconds until the grant must be checked for this holder. */
  private delayMs(grant: Grant, holder: Holder | undefined, now: number): number {
    const end = untilEnd(grant, now, holder);
    const renews = grant.renewal === undefined && this.wantsRenewal(grant, now, holder);
    const delay = renews ? Math.min(end, Math.max(0, renewalAt(grant, holder) - now)) : end;
    const report = (holder?.unreportedSince ?? Infinity) + this.warnAfterMs - now;
    return report < delay ? Math.max(0, report) : delay;
  }

  unwatch(grant: Grant): void {
    this.timers.remove(grant);
  }

  /** A property, because every grant has a reference to it. */
  readonly check = (grant: Grant): void => {
    if (grant.ended) return;
    const now = this.clock.now();
    if (now >= grant.validUntil - EARLY_MS) return this.expire(grant, now);
    grant.holder?.readers?.endOverdue(grant, now, EARLY_MS);
    if (grant.ended) return;
    this.reportLong(grant, now);
    const renews = grant.renewal === undefined && this.wantsRenewal(grant, now);
    if (!renews || now < Math.floor(renewalAt(grant))) return this.watch(grant);
    this.batch.push(grant);
    // Not queueMicrotask: fake timers of test runners delay it.
    if (this.batch.length === 1) void Promise.resolve().then(() => this.renewBatch());
  };

  /** The renewal timer also reports long holds, so a lease needs no second timer. */
  private reportLong({ holder }: Grant, now: number): void {
    const before = now - this.warnAfterMs;
    if (holder !== undefined && holder.unreportedSince <= before) holder.reportLong(before);
  }

  private wantsRenewal(grant: Grant, now: number, holder = grant.holder): boolean {
    if (holder?.readers !== undefined) return holder.readers.renewalAt(grant) < Infinity;
    // A downgrade stops the renewal of the write grant; the read grant is renewed from its start.
    if (holder === undefined || holder.replacing === grant) return false;
    return holder.renew && now < holder.renewUntil && !reachesLimit(grant);
  }

  private renewBatch(): void {
    const grants = this.batch.filter((grant) => !grant.ended && grant.renewal === undefined);
    this.batch = [];
    if (grants.length > 0) this.send(grants);
  }

  /** Renews the grant now for `ttlMs`, or returns the renewal in flight. */
  renew(grant: Grant, ttlMs: number): Renewal {
    if (grant.renewal === undefined) this.send([grant], ttlMs);
    return grant.renewal!;
  }

  /** An extension that is not confirmed may have lengthened the lease. A shared lease is shortened now, any other by its release. */
  shortenAgain(grant: Grant): void {
    if (grant.ended) return;
    grant.toShorten = true;
    if (grant.holder?.readers !== undefined) this.watch(grant);
  }

  /** How long the back-off after a failed renewal still lasts; 0 when the grant may be renewed now. */
  retryInMs({ failures, isScheduled, renewal, dueAt }: Grant): number {
    if (failures === 0 || !isScheduled || renewal !== undefined) return 0;
    return Math.max(0, Math.min(LONGEST_RETRY_MS, Math.ceil(dueAt - this.clock.now())));
  }

  private send(grants: readonly Grant[], ttlMs = 0): void {
    const sentAt = this.clock.now();
    const requests = grants.map((grant): RenewRequest & { ttlMs: number } => {
      const { key, ownerToken, kind } = grant;
      const request = {
        key,
        ownerToken,
        kind,
        ttlMs: Math.max(ttlMs, renewalMs(grant, sentAt)),
      };
      return isTooLong(grant, sentAt, request.ttlMs) ? { ...request, exact: true } : request;
    });
    const renewals = requests.map((request, i): Renewal => {
      const { mostMs, dueAt } = grants[i];
      const lateMs = Math.max(0, sentAt - dueAt);
      return { sentAt, lateMs, ttlMs: request.ttlMs, ...(request.exact === true ? { shortening: { mostMs } } : {}) };
    });
    grants.forEach((grant, i) => {
      grant.renewal = renewals[i];
      grant.holder?.renewing();
      if (grant.holder?.readers !== undefined) grant.holder.readers.shortenAt = Infinity;
      if (renewals[i].shortening !== undefined) grant.shorten(sentAt, renewals[i].ttlMs);
      this.timers.add(grant, untilEnd(grant, sentAt));
    });
    this.sendAll(requests, (answer, i) => this.answered(grants[i], renewals[i], answer));
  }

  private sendAll(requests: readonly RenewRequest[], answered: (answer: RenewAnswer, index: number) => void): void {
    const { store } = this;
    if (store.renewOne === undefined) {
      store.renew(requests).then(
        (answers) => requests.forEach((_, i) => answered(answers[i], i)),
        (error: Error) => requests.forEach((_, i) => answered(error, i)),
      );
    } else {
      requests.forEach((request, i) => {
        const apply = (answer: RenewAnswer): void => answered(answer, i);
        whenAnswered(store.renewOne!(request), { answered: apply, failed: apply });
      });
    }
  }

  private answered(grant: Grant, renewal: Renewal, answer: RenewAnswer): void {
    grant.renewal = undefined;
    this.apply(grant, renewal, answer);
    renewal.answered?.(answer);
  }

  private apply(grant: Grant, renewal: Renewal, answer: RenewAnswer): void {
    const { sentAt, ttlMs, shortening } = renewal;
    if (grant.ended) return;
    const now = this.clock.now();
    if (now >= grant.validUntil) return this.expire(grant, now, renewal);
    // A downgrade removes the token from the store, so its absence is no loss.
    if (isLost(answer)) return grant.holder?.replacing === grant ? undefined : this.lose(grant, lossOfAnswer(answer));
    if (answer instanceof Error) {
      if (mayTakeEffect(answer)) grant.toShorten ||= isForVisitor(grant, sentAt, ttlMs);
      else if (shortening !== undefined) grant.mostMs = shortening.mostMs;
      return this.retry(grant, now);
    }
    grant.counted(answer);
    if (shortening !== undefined) grant.shortened(shortening);
    if (lockChannels.state.hasSubscribers) reportRenewal(grant, now);
    this.confirm(grant, sentAt, ttlMs, now);
  }

  /** Applies a confirmed command. It revives no lease of the grant whose own time has passed before the answer. */
  confirm(grant: Grant, sentAt: number, ttlMs: number, now = this.clock.now()): void {
    grant.holder?.readers?.endOverdue(grant, now, 0);
    // The last of its leases has ended.
    if (grant.ended) return;
    grant.confirm(sentAt, ttlMs);
    this.watch(grant);
  }

  /** Whether the grant has ended at `now`. If its end has passed before its timer fired, the holder is notified now. */
  isOver(grant: Grant, now: number): boolean {
    if (!grant.ended && now >= grant.validUntil) this.expire(grant, now);
    return grant.ended;
  }

  /** Notifies each holder whose time has passed before the timer of the grant fired. */
  endOverdue(grant: Grant, now = this.clock.now()): void {
    const { readers } = grant.holder ?? {};
    if (!this.isOver(grant, now)) readers?.endOverdue(grant, now, 0, this.why);
  }

  expire(grant: Grant, now = this.clock.now(), renewal = grant.renewal): void {
    this.lose(grant, this.why(overdue(grant, now, renewal)));
  }

  /** Shutdown has closed the shared timers, so nothing is renewed from now on. Each holder is notified before the end of its lease. */
  close(grants: readonly Grant[]): void {
    this.why = lossAfterClose;
    for (const grant of grants) this.guardEnd(grant);
  }

  private guardEnd(grant: Grant): void {
    const now = this.clock.now();
    if (!grant.ended) grant.holder?.readers?.endOverdue(grant, now, EARLY_MS, this.why);
    if (grant.ended) return;
    if (now >= grant.validUntil - EARLY_MS) return this.lose(grant, this.why(overdue(grant, now)));
    const leftMs = Math.max(1, untilEnd(grant, now) - EARLY_MS);
    this.clock.after(Math.min(leftMs, LONGEST_MS), () => this.guardEnd(grant));
  }

  private retry(grant: Grant, now: number): void {
    this.timers.add(grant, Math.min(grant.nextDelayMs(), untilEnd(grant, now)));
  }

  /** Ends the grant and notifies its holder once. */
  lose(grant: Grant, loss: Loss): void {
    if (grant.ended) return;
    this.unwatch(grant);
    grant.ended = true;
    grant.holder?.lose(loss);
    this.onLost(grant, loss);
  }
}

/** An extension may come before the renewal is due. */
function reportRenewal(grant: Grant, now: number): void {
  const name = grant.holder?.holds[0]?.name ?? '';
  lockChannels.state.publish({ type: 'renewed', name, lagMs: Math.max(0, now - renewalAt(grant)) });
}

/** The grant, whose time has passed at `now`, and its latest renewal. */
function overdue(grant: Grant, now: number, renewal = grant.renewal): Overdue {
  const { holder, ttlMs } = grant;
  const { renew = true } = holder ?? {};
  const reachedLimit = reachesLimit(grant);
  return { ttlMs, lateMs: grant.lateMsAt(now, renewal), renew, reachedLimit };
}

/** The lease lasts as long as its holder may hold it. */
function reachesLimit({ endsAt, holder }: Grant): boolean {
  return holder !== undefined && endsAt > holder.leaseUntil - LIMIT_TOLERANCE_MS;
}

/** The ttl that a renewal sent at `now` requests. */
function renewalMs({ ttlMs, holder }: Grant, now: number): number {
  if (holder?.readers !== undefined) return Math.max(1, Math.floor(holder.readers.needMs(now)));
  return Math.min(ttlMs, Math.max(1, Math.floor((holder?.leaseUntil ?? Infinity) - now)));
}

/** Whether a shared lease lasts longer than its holders need; after a crash the key would stay locked for that long. */
function isTooLong({ holder, endsAt, toShorten }: Grant, now: number, neededMs: number): boolean {
  return holder?.readers !== undefined && (toShorten || endsAt > now + neededMs + LIMIT_TOLERANCE_MS);
}

/** Whether a renewal of a shared lease was longer than its holders need, for a reader that wanted to enter. */
function isForVisitor({ holder }: Grant, sentAt: number, ttlMs: number): boolean {
  return holder?.readers !== undefined && ttlMs > Math.max(1, holder.readers.needMs(sentAt)) + LIMIT_TOLERANCE_MS;
}

function renewalAt(grant: Grant, holder = grant.holder): number {
  return holder?.readers?.renewalAt(grant) ?? grant.renewalAt;
}

function untilEnd(grant: Grant, now: number, holder = grant.holder): number {
  const end = Math.min(grant.validUntil, holder?.readers?.validUntil(grant) ?? Infinity);
  return Math.max(0, Math.floor(end - now));
}
