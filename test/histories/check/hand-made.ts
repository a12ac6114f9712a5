import {
  RUN,
  type CallName,
  type HistoryEvent,
  type RecordedOptions,
  type RunEvent,
  type WorkerEvent,
} from '../event.js';
import { checkHistory } from './check-history.js';

interface HandMadeOperation extends RecordedOptions {
  readonly call?: CallName;
  readonly process?: string;
  readonly keys?: readonly string[];
  readonly inside?: string;
  readonly probe?: true;
  readonly ticket?: string;
  readonly called: number;
  /** When the command of the grant was sent; by default at the call. */
  readonly sent?: number;
  readonly granted?: number;
  readonly token?: number;
  /** How many leases the grant has served, this one included; by default 1. */
  readonly leases?: number;
  /** By default the lease is proven until long after its end. */
  readonly until?: number;
  readonly lost?: number;
  readonly reason?: string;
  readonly notHeld?: number;
  readonly downgraded?: number;
  readonly released?: number;
  /** Duration of `release()`. */
  readonly releaseMs?: number;
  readonly refused?: number;
  readonly code?: string;
  readonly message?: string;
  readonly aborted?: number;
  readonly ended?: string;
}

type OfOperation = Extract<WorkerEvent, { readonly op: string }>;
type Bare<E, Known extends string = 'op'> = E extends unknown ? Omit<E, Known> : never;

/** A history for a test, in milliseconds from 0. */
export class HandMade {
  private readonly events: HistoryEvent[] = [];

  /** Adds the events of an operation, and more events of it. */
  operation(op: string, made: HandMadeOperation, ...more: readonly Bare<OfOperation>[]): this {
    const { call = 'acquire', process = 'p1', keys = ['k'], inside, probe, ticket, ...rest } = made;
    const {
      called,
      sent = called,
      granted,
      token = 1,
      leases = 1,
      until = 1e6,
      lost,
      reason,
      notHeld,
      downgraded,
      released,
      releaseMs = 0,
      ...others
    } = rest;
    const { refused, code = 'LOCK_CONTENDED', message = '', aborted, ended, ...options } = others;
    const byKey = (value: number): Record<string, number> => Object.fromEntries(keys.map((key) => [key, value]));
    const at = (time: number | undefined, event: Bare<OfOperation, 'op' | 'at'>): void => {
      if (time !== undefined) this.events.push({ ...event, at: time, process, op });
    };
    at(called, { type: 'ask', call, keys, options: { ttl: 1e6, ...options }, inside, probe, ticket });
    at(aborted, { type: 'abort' });
    const tokens = Object.fromEntries(keys.map((key, i) => [key, token + i / 10]));
    at(granted, { type: 'granted', tokens, sentAt: byKey(sent), leases: byKey(leases), until });
    at(refused, { type: 'refused', code, message });
    at(downgraded, { type: 'downgrade' });
    at(lost, { type: 'lost', code: 'LEASE_LOST', reason, message: '' });
    at(notHeld, { type: 'not-held' });
    at(released, { type: 'release', held: lost === undefined && notHeld === undefined });
    const end = released === undefined ? undefined : released + releaseMs;
    if (ended === undefined) at(end, { type: 'released' });
    else at(end, { type: 'ended', code: ended });
    for (const event of more) at(event.at, event);
    return this;
  }

  /** Adds a call of `cancel()`, which settles within 5 ms. */
  cancel(op: string, made: { readonly ticket: string; readonly called: number; readonly cancelled: boolean }): this {
    const { ticket, called, cancelled } = made;
    const ask = { type: 'ask', call: 'cancel', keys: ['k'], options: {}, ticket } as const;
    this.events.push({ ...ask, op, process: 'p4', at: called });
    this.events.push({ type: 'cancelled', op, process: 'p4', at: called + 5, cancelled });
    return this;
  }

  /** Adds an event of the run. */
  run(event: RunEvent): this {
    this.events.push({ process: RUN, ...event });
    return this;
  }

  shutdown(process: string, at: number, withinMs?: number): this {
    this.events.push({ type: 'shutdown', process, at, withinMs });
    return this;
  }

  closed(process: string, at: number): this {
    this.events.push({ type: 'closed', process, at });
    return this;
  }

  standstill(process: string, from: number, to: number): this {
    this.events.push({ type: 'standstill', process, from, at: to });
    return this;
  }

  /** The lines of a file of events. */
  lines(): string {
    return this.events.map((event) => `${JSON.stringify(event)}\n`).join('');
  }

  /** The violations that the checker reports, as `rule: message`. */
  violations(check = checkHistory): string[] {
    const inOrder = this.events.toSorted((a, b) => a.at - b.at);
    return check(inOrder).map(({ rule, message }) => `${rule}: ${message}`);
  }
}
