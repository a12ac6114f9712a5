import { traceOf } from '../channels.js';
import { isLockError, type LeaseLossReason } from '../errors.js';
import { nameOfKey } from '../options/lock-name.js';
import { Alarm } from '../runtime/timers.js';
import type { LeaseTickets, MoveAnswer, MoveRequest, TicketRecord } from '../store/lock-store.js';
import { finalUndoAt } from '../store/abandoned-tokens.js';
import type { EngineContext } from './context.js';
import { RECORD_EXTRA_MS } from './detaching.js';
import type { Entering } from './entering.js';
import { Grant, MOST_LATE_ANSWERS, restMs } from './lease/grant.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import type { Lease } from './lease/lease.js';
import { planOf } from './lease/lifetime-plan.js';
import type { LockCall } from './lease/lock-call.js';
import type { MultiKey } from './multi-key.js';
import { noTickets, ofOtherConnection, ticketLost, ticketUnavailable } from './refusals.js';
import { reportRefused } from './reports.js';
import { type DetachedLease, detachedLease, suffixOf, ticketOf, tokenOf } from './ticket.js';

/** A call of `attach()`; its key and its name may come from the record of the ticket. */
export type AttachCall = Omit<LockCall, 'key' | 'name'> & { readonly name?: string | undefined };

/** A ticket with its record. */
interface FoundTicket {
  readonly id: string;
  readonly record: TicketRecord;
  readonly lease: DetachedLease;
}

/** The token of a call without a definite result, until its lease has ended. */
interface Unclear {
  readonly to: string;
  readonly forget: Alarm;
}

/** One key of a lease that travels to this process. */
interface Part {
  readonly call: LockCall;
  readonly from: string;
  readonly to: string;
}

/** Continues detached leases in this process, or releases them. See `Locks.attach` and `Locks.cancel`. */
export class Attaching {
  /**
   * The owner tokens of calls without a definite result, by the detached token that they replace: a repeated call uses the same
   * tokens, so it finds the lease that an earlier command has moved.
   */
  private readonly unclear = new Map<string, Unclear>();
  /** Calls in progress, by their ticket. */
  private readonly running = new Map<string, Promise<unknown>>();

  constructor(
    private readonly context: EngineContext,
    private readonly entering: Entering,
    private readonly multiKey: MultiKey,
    /** The name of the module's connection. */
    private readonly connection: string,
    /** Called when a call has ended. */
    private readonly ended: () => void,
  ) {}

  /** Continues the lease of the ticket in this process. */
  attach(ticket: string, call: AttachCall): Promise<Lease> {
    return this.inTurn(ticket, () => this.attachNow(ticket, call));
  }

  /** Releases a detached lease; resolves with whether the ticket still held it. */
  cancel(ticket: string): Promise<boolean> {
    return this.inTurn(ticket, () => this.cancelNow(ticket));
  }

  /** Whether a call has no result yet. */
  get isBusy(): boolean {
    return this.running.size > 0;
  }

  /** The calls of this process for one ticket run one after the other: each knows what the ones before have moved. */
  private async inTurn<T>(ticket: string, call: () => Promise<T>): Promise<T> {
    const made = (this.running.get(ticket) ?? Promise.resolve()).then(call);
    const settled = made.then(ignore, ignore);
    this.running.set(ticket, settled);
    try {
      return await made;
    } finally {
      if (this.running.get(ticket) === settled) this.running.delete(ticket);
      this.ended();
    }
  }

  private async attachNow(ticket: string, call: AttachCall): Promise<Lease> {
    const { clock, events } = this.context;
    const since = clock.now();
    let found: FoundTicket | undefined;
    try {
      found = await this.find(ticket, 'attach()', 'used');
      if (found === undefined) throw ticketLost('expired');
      return await this.attachFound(found, call, since);
    } catch (error) {
      const isWrong = found === undefined && isLockError(error, 'LOCK_USAGE');
      if (!isWrong) reportRefused(events, refusedCall(call, found?.lease), clock.now() - since, error as Error);
      throw error;
    }
  }

  private async attachFound(found: FoundTicket, call: AttachCall, since: number): Promise<Lease> {
    const { record, lease, id } = found;
    if (record.fate === 'released') throw ticketLost('released', lease);
    const parts = this.partsOf(found, call);
    const fault = parts
      .map((part) => this.entering.faultOfTicket(part.call, id, parts.length))
      .find((each) => each !== undefined);
    if (fault !== undefined) throw fault;
    const grants = await this.moveAll(parts, found);
    const late = this.entering.faultOfTicket(parts[0].call, id, parts.length);
    if (late !== undefined) {
      await this.moveBack(parts, found, since);
      throw late;
    }
    for (const { from } of parts) this.forget(from);
    this.context.kept.dropDetached(id);
    const tookMs = Math.ceil(this.context.clock.now() - since);
    const calls = parts.map((part) => afterDelay(part.call, tookMs));
    if (calls[0].options.maxHoldMs <= 0) {
      this.releaseAll(parts, found);
      throw ticketLost('maxHold', lease);
    }
    // A holder learns of waiters and of a forced release only through the subscription.
    void this.context.inbox.ready();
    // A call that is refused before is traced by its report.
    const trace = traceOf(parts[0].call);
    const traced = trace === undefined ? () => ({}) : () => ({ trace: { ...trace } });
    const leases = await Promise.all(calls.map((one, i) => this.serve({ ...one, ...traced() }, grants[i])));
    return leases.length === 1 ? leases[0] : this.multiKey.begun(leases, since);
  }

  private async cancelNow(ticket: string): Promise<boolean> {
    const found = await this.find(ticket, 'cancel()', 'released');
    if (found === undefined) return false;
    const { lease, id } = found;
    const tokens = lease.keys.map((_, i) => tokenOf(id, lease, i));
    const moved = tokens.map((from) => this.forget(from)?.to);
    const results = await Promise.allSettled(
      [...tokens, ...moved].map((ownerToken, i) => this.release(found, lease.keys[i % tokens.length], ownerToken)),
    );
    // The store may execute a move without a reply later.
    moved.forEach((ownerToken, i) => ownerToken !== undefined && this.undo(lease.keys[i], ownerToken, lease.ttlMs));
    this.context.kept.dropDetached(id);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return results.some((result) => result.status === 'fulfilled' && result.value);
  }

  /** Releases one key; resolves with whether the token held it. Without an answer, the release is repeated. */
  private async release({ lease, record }: FoundTicket, key: string, ownerToken: string | undefined): Promise<boolean> {
    if (ownerToken === undefined) return false;
    const { store, abandoned } = this.context;
    try {
      const answer = await store.release({ key, ownerToken, kind: lease.kind });
      // A release that was sent twice has ended the lease itself only if no other call has used the ticket before.
      return answer.outcome !== 'lost' || (answer.resent && record.fate === 'kept');
    } catch (error) {
      abandoned.abandon({ key, ownerToken }, lease.ttlMs);
      throw ticketUnavailable('cancel()', error as Error);
    }
  }

  /** Releases a key, also after a command for the token that the store executes late. */
  private undo(key: string, ownerToken: string, ttlMs: number): void {
    const { abandoned, clock } = this.context;
    abandoned.abandon({ key, ownerToken }, ttlMs, { finalAt: finalUndoAt(clock.now()) });
  }

  /** The ticket with its record; `undefined` if there is none, or it is not readable. */
  private async find(text: string, method: string, fate: 'used' | 'released'): Promise<FoundTicket | undefined> {
    const tickets = this.ticketsFor(method);
    const origin = { connection: this.connection, scope: tickets.scope };
    const { id, isOfOtherName } = ticketOf(text, method, origin);
    const record = await tickets.mark(id, fate).catch((error: Error) => {
      throw ticketUnavailable(method, error);
    });
    const lease = record && detachedLease(record.text);
    if (lease !== undefined) return { id, record: record!, lease };
    if (record === undefined && isOfOtherName) throw ofOtherConnection(method);
    return undefined;
  }

  private ticketsFor(method: string): LeaseTickets {
    const { tickets } = this.context.store;
    if (tickets === undefined) throw noTickets(method);
    return tickets;
  }

  private partsOf(found: FoundTicket, call: AttachCall): Part[] {
    const { id, lease } = found;
    const { kind, keys, permits, weight } = lease;
    const heldBeforeMs = lease.heldMs + detachedMsOf(found);
    const maxHoldMs = Math.floor(call.options.maxHoldMs - heldBeforeMs);
    if (maxHoldMs <= 0) throw ticketLost('maxHold', lease);
    const minHoldMs = Math.min(call.options.minHoldMs, maxHoldMs);
    const options = { ...call.options, kind, permits, weight, maxHoldMs, minHoldMs, waitMs: 0 };
    const multiKey = keys.length > 1;
    const name = call.name ?? nameOfKey(keys);
    return keys.map((key, i) => {
      const from = tokenOf(id, lease, i);
      const to = this.unclear.get(from)?.to ?? this.context.tokens.next(suffixOf(lease));
      return { call: { ...call, key, name, options, multiKey, heldBeforeMs }, from, to };
    });
  }

  /** The call that gets the first key gets the others, so two calls never get a part each. */
  private async moveAll(parts: readonly Part[], found: FoundTicket): Promise<Grant[]> {
    const [first, ...others] = parts;
    try {
      const grants = [await this.move(first, found)];
      const results = await Promise.allSettled(others.map((part) => this.move(part, found)));
      for (const result of results) {
        if (result.status === 'rejected' && isLockError(result.reason, 'LEASE_LOST')) throw result.reason;
      }
      return await this.freshGrants(parts, grants.concat(results.map(granted)), found);
    } catch (error) {
      // A key that is gone makes the ticket useless, so the other keys are released. Another call has them if it used the ticket.
      if (isLockError(error, 'LEASE_LOST') && error.reason !== 'used') this.releaseAll(parts, found);
      throw error;
    }
  }

  /** Moves a key again while it has less than two thirds of its ttl left, because the other keys took long. */
  private async freshGrants(parts: readonly Part[], grants: readonly Grant[], found: FoundTicket): Promise<Grant[]> {
    let fresh = [...grants];
    if (fresh.length === 1) return fresh;
    for (let rounds = 0; rounds < MOST_LATE_ANSWERS; rounds += 1) {
      const now = this.context.clock.now();
      const isLate = ({ validUntil, ttlMs }: Grant): boolean => validUntil - now < restMs(ttlMs);
      if (!fresh.some(isLate)) return fresh;
      fresh = await Promise.all(
        fresh.map(async (grant, i) => (isLate(grant) ? this.move(parts[i], found, MOST_LATE_ANSWERS) : grant)),
      );
    }
    const ended = fresh.some(({ validUntil }) => validUntil <= this.context.clock.now());
    if (ended) throw ticketUnavailable('attach()', TOO_LATE);
    return fresh;
  }

  private releaseAll(parts: readonly Part[], { lease }: FoundTicket): void {
    for (const { call, from, to } of parts) {
      this.forget(from);
      this.undo(call.key, from, lease.ttlMs);
      this.undo(call.key, to, planOf(call.options).ttlMs);
    }
  }

  /** This process does not begin the hold, so the ticket continues the lease again for the rest of its time. */
  private async moveBack(parts: readonly Part[], found: FoundTicket, since: number): Promise<void> {
    const tickets = this.ticketsFor('attach()');
    const tookMs = this.context.clock.now() - since;
    const ttlMs = Math.max(1, Math.floor(found.lease.ttlMs - detachedMsOf(found) - tookMs));
    const { kind } = found.lease;
    await Promise.allSettled(
      parts.map(async ({ call: { key }, from, to }) => {
        await tickets.move({ key, kind, ownerToken: to, to: from, ttlMs });
        this.forget(from);
      }),
    );
  }

  /**
   * Moves one key to this process; repeats the command while its lease would begin too late, as for other grants.
   * @param before - number of late answers before
   */
  private async move({ call, from, to }: Part, found: FoundTicket, before = 0): Promise<Grant> {
    const { lease } = found;
    const { clock, watchdog } = this.context;
    const { key, options } = call;
    const { ttlMs } = planOf(options);
    this.remember(from, to, ttlMs);
    for (let late = before; ; late += 1) {
      const sentAt = clock.now();
      const answer = await this.answer({ key, kind: lease.kind, ownerToken: from, to, ttlMs });
      if (answer.outcome === 'lost') {
        this.forget(from);
        // After an answer that came too late, its own lease has ended.
        throw ticketLost(late > 0 ? 'expired' : await this.reasonOf(found, answer.taken), lease);
      }
      const grant = new Grant(watchdog.check, key, to, ttlMs, sentAt, answer.fencingToken, 1, answer.waiting);
      const leftMs = grant.validUntil - clock.now();
      if (leftMs >= restMs(ttlMs) || (late >= MOST_LATE_ANSWERS && leftMs > 0)) return grant;
      if (late >= MOST_LATE_ANSWERS) throw ticketUnavailable('attach()', TOO_LATE);
    }
  }

  private async answer(request: MoveRequest): Promise<MoveAnswer> {
    try {
      return await this.ticketsFor('attach()').move(request);
    } catch (error) {
      throw ticketUnavailable('attach()', error as Error);
    }
  }

  /**
   * Why the detached token does not hold the key. Each call marks the record before it moves the lease, so a lease that no other
   * call has marked was not used: it ended, or an operator released it.
   */
  private async reasonOf(found: FoundTicket, taken: boolean): Promise<LeaseLossReason> {
    const { id, record, lease } = found;
    if (record.fate === 'used') return 'used';
    if (detachedMsOf(found) >= lease.ttlMs) return 'expired';
    const now = await this.ticketsFor('attach()')
      .mark(id, 'used')
      .catch(() => undefined);
    // This call has marked it once.
    if (now !== undefined && now.uses > 1) return 'used';
    if (now?.isReleased === true) return 'released';
    return taken ? 'taken' : 'released';
  }

  /** The lease may end with this ttl, if the reply is lost and no call repeats. */
  private remember(from: string, to: string, ttlMs: number): void {
    const { timers, clock } = this.context;
    const { forget } = this.unclear.get(from) ?? { forget: new Alarm(() => this.unclear.delete(from)) };
    this.unclear.set(from, { to, forget });
    const ms = ttlMs + RECORD_EXTRA_MS;
    if (!forget.isScheduled || forget.dueAt < clock.now() + ms) timers.add(forget, ms);
  }

  private forget(from: string): Unclear | undefined {
    const unclear = this.unclear.get(from);
    if (unclear !== undefined) this.context.timers.remove(unclear.forget);
    this.unclear.delete(from);
    return unclear;
  }

  private serve(call: LockCall, grant: Grant): Promise<LeaseHandle> {
    return new Promise((resolve, reject) => {
      const list = this.entering.newCaller(call, resolve, reject);
      list.state.granted(list, grant, this.context.clock.now());
      this.context.changed(list.state);
    });
  }
}

/** What a report shows of the call. Without a record of the ticket, its keys are unknown. */
function refusedCall(call: AttachCall, lease?: DetachedLease): LockCall {
  const { keys = [], kind = call.options.kind } = lease ?? {};
  return { ...call, key: keys[0] ?? '', name: call.name ?? nameOfKey(keys), options: { ...call.options, kind } };
}

/** The call, whose commands took so long: that time counts for `maxHold`. */
function afterDelay({ heldBeforeMs = 0, options, ...call }: LockCall, tookMs: number): LockCall {
  const maxHoldMs = options.maxHoldMs - tookMs;
  const minHoldMs = Math.min(options.minHoldMs, maxHoldMs);
  return { ...call, heldBeforeMs: heldBeforeMs + tookMs, options: { ...options, maxHoldMs, minHoldMs } };
}

/** How long ago the lease was detached. */
const detachedMsOf = ({ lease, record }: FoundTicket): number => Math.max(0, lease.recordMs - record.leftMs);

/** The grant, or the error of the store. */
function granted(result: PromiseSettledResult<Grant>): Grant {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

const ignore = (): void => undefined;

const TOO_LATE = new Error('its answers came too late to prove the lease.');
