import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import type { Lease } from '../../../libs/distribute-lock/src/engine/lease/lease.js';
import type { Locks } from '../../../libs/distribute-lock/src/locks/locks.js';
import { monotonicMs } from '../../support/monotonic.js';
import type { WorkerEvent } from '../event.js';
import type { OperationPlan } from '../plan/operation-plan.js';
import type { LeaseWatch } from './lease-watch.js';
import type { Recorder } from './recorder.js';
import type { Register } from './register.js';
import type { TicketBox } from './tickets.js';

/** The dependencies of the operations of a process. */
export interface OperationTools {
  readonly service: Pick<Locks, 'acquire' | 'tryAcquire' | 'withLock' | 'attach' | 'cancel'>;
  readonly register: Pick<Register, 'read' | 'write'> & { readonly tickets: TicketBox };
  readonly recorder: Recorder<WorkerEvent>;
  readonly leases: LeaseWatch;
  /** `outsideLocks` of the library. */
  readonly outside: <T>(work: () => T) => T;
  /** Ends every pause early, because the process shuts down. */
  readonly ending: AbortSignal;
}

/** So long that the work around it ends before. */
const DETACHED_WAIT_MS = 2_500;

const codeOf = (error: unknown): string => (isLockError(error) ? error.code : 'none');

/** Acquires locks as planned, works under the lease, and releases it. Records all events. */
export class Operation {
  /** Calls that the work has started and does not wait for. */
  private readonly started: Promise<void>[] = [];

  constructor(
    private readonly tools: OperationTools,
    private readonly plan: OperationPlan,
    private readonly op: string,
    private readonly more: { readonly inside?: string; readonly probe?: true; readonly ticket?: string } = {},
    /** The ticket of a call of `attach`. */
    private readonly text = '',
  ) {}

  async run(): Promise<void> {
    const { call, keys, options, abortAfterMs } = this.plan;
    this.tools.recorder.record({ type: 'ask', op: this.op, call, keys, options, ...this.more });
    const controller = new AbortController();
    const abort = (): void => {
      this.tools.recorder.record({ type: 'abort', op: this.op });
      controller.abort();
    };
    const timer = abortAfterMs === undefined ? undefined : setTimeout(abort, abortAfterMs);
    const settled = () => clearTimeout(timer);
    if (call === 'withLock') await this.withLock(controller.signal, settled);
    else await this.acquire(controller.signal, settled);
    settled();
    await Promise.all(this.started);
  }

  private get key(): string | readonly string[] {
    const { keys } = this.plan;
    return keys.length === 1 ? keys[0] : keys;
  }

  private async acquire(signal: AbortSignal, settled: () => void): Promise<void> {
    const { service, leases } = this.tools;
    const { wait, ...others } = this.plan.options;
    let lease: Lease | null;
    try {
      if (this.plan.call === 'attach') lease = await service.attach(this.text, { ttl: others.ttl, signal });
      else if (this.plan.call === 'tryAcquire') lease = await service.tryAcquire(this.key, { ...others, signal });
      else lease = await service.acquire(this.key, { ...others, wait, signal });
    } catch (error) {
      return this.refused(error);
    }
    settled();
    if (lease === null) return this.refused(undefined);
    leases.granted(this.op, lease);
    await this.work(lease);
    const isDetached = this.plan.detach !== undefined && (await this.detach(lease, this.plan.detach));
    if (!isDetached) {
      leases.releases(this.op, lease);
      await lease.release();
    }
    this.tools.recorder.record({ type: 'released', op: this.op });
    if (this.plan.releasesTwice === true) await lease.release();
  }

  private async withLock(signal: AbortSignal, settled: () => void): Promise<void> {
    const { service, leases, recorder } = this.tools;
    let granted = false;
    try {
      await service.withLock(this.key, { ...this.plan.options, signal }, async (lease) => {
        granted = true;
        settled();
        leases.granted(this.op, lease);
        await this.work(lease);
        leases.releases(this.op, lease);
      });
      recorder.record({ type: 'ended', op: this.op, code: 'ok' });
    } catch (error) {
      if (!granted) return this.refused(error);
      recorder.record({ type: 'ended', op: this.op, code: codeOf(error), message: String(error) });
    }
  }

  private refused(error: unknown): void {
    // `tryAcquire` returns null where the others reject
    const code = error === undefined ? 'LOCK_CONTENDED' : codeOf(error);
    const message = error instanceof Error ? `${error.name}: ${error.message}` : 'null';
    this.tools.recorder.record({ type: 'refused', op: this.op, code, message });
  }

  private async work(lease: Lease): Promise<void> {
    const { plan, tools } = this;
    const { kind } = plan.options;
    if (plan.blockFirstMs !== undefined) this.block(plan.blockFirstMs);
    this.startNested();
    const written = this.more.inside === undefined && (kind === 'exclusive' || kind === 'write') ? plan.keys : [];
    const seen = await Promise.all(written.map((key) => tools.register.read(key)));
    await this.pause(plan.holdMs / 2, lease.signal);
    if (plan.blockMs !== undefined) this.block(plan.blockMs);
    if (plan.extendMs !== undefined) await this.extend(lease, plan.extendMs);
    if (plan.inner !== undefined) await this.inner();
    await Promise.all(written.map((key, i) => this.write(lease, key, seen[i])));
    if (plan.downgrades === true) await this.downgrade(lease);
    await this.pause(plan.holdMs / 2, lease.signal);
  }

  /** Blocks the thread, so that no timer runs and no socket is read. Recorded before, because the process may be killed. */
  private block(ms: number): void {
    this.tools.recorder.record({ type: 'blocks', op: this.op, ms });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  }

  /** Writes without checking the lease, because the resource compares the tokens. */
  private async write(lease: Lease, key: string, seen: number): Promise<void> {
    const token = lease.fencingTokens.get(key) ?? NaN;
    const from = monotonicMs();
    const answer = await this.tools.register.write(key, token, this.op);
    this.tools.recorder.record({ type: 'write', op: this.op, key, token, from, seen, ...answer });
  }

  private async extend(lease: Lease, ttlMs: number): Promise<void> {
    this.tools.recorder.record({ type: 'extend', op: this.op, ttlMs });
    const code = await lease.extend(ttlMs).then(() => 'ok', codeOf);
    this.tools.recorder.record({ type: 'extended', op: this.op, code });
  }

  /** Whether the lease is detached. The ticket goes to other callers, of all processes. */
  private async detach(lease: Lease, { ttlMs, copies }: NonNullable<OperationPlan['detach']>): Promise<boolean> {
    const { leases, recorder, register } = this.tools;
    const { keys, options } = this.plan;
    leases.detaches(this.op, lease, ttlMs);
    const ticket = await lease.detach({ ttl: ttlMs }).catch((error: unknown) => {
      recorder.record({ type: 'detached', op: this.op, code: codeOf(error) });
    });
    if (ticket === undefined) return false;
    recorder.record({ type: 'detached', op: this.op, code: 'ok' });
    await register.tickets.put({ text: ticket, of: this.op, keys, options }, copies);
    return true;
  }

  private async downgrade(lease: Lease): Promise<void> {
    this.tools.recorder.record({ type: 'downgrade', op: this.op });
    const code = await lease.downgrade().then(() => 'ok', codeOf);
    this.tools.recorder.record({ type: 'downgraded', op: this.op, code });
  }

  /** Runs in the call chain of the outer work, so that the library knows that the chain holds the key. */
  private async inner(): Promise<void> {
    const { keys, options } = this.plan;
    const plan: OperationPlan = { call: 'withLock', keys, options, holdMs: 0, gapMs: 0 };
    await new Operation(this.tools, plan, `${this.op}'`, { inside: this.op }).run();
  }

  /** Runs in the call chain of this work, and may end after it. */
  private startNested(): void {
    const { keys, options, outlasting = [], detached } = this.plan;
    for (const [i, { holdMs, reads, again }] of outlasting.entries()) {
      const inner = { ...options, kind: reads ? ('read' as const) : options.kind };
      const plan: OperationPlan = {
        call: 'withLock',
        keys,
        options: inner,
        holdMs,
        gapMs: 0,
        outlasting: again ? [{ holdMs, reads, again: false }] : [],
      };
      this.started.push(new Operation(this.tools, plan, `${this.op}'${i}`, { inside: this.op }).run());
    }
    if (detached === undefined) return;
    const { ttl, kind } = options;
    const plan: OperationPlan = {
      call: 'withLock',
      keys,
      options: { ttl, kind, wait: DETACHED_WAIT_MS },
      ...detached,
      gapMs: 0,
    };
    this.started.push(this.tools.outside(() => new Operation(this.tools, plan, `${this.op}~`).run()));
  }

  private pause(ms: number, signal: AbortSignal): Promise<void> {
    return pause(ms, [signal, this.tools.ending]);
  }
}

/** Resolves after `ms`, or as soon as one of the signals has aborted. */
export function pause(ms: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    for (const signal of signals) {
      if (signal.aborted) done();
      else signal.addEventListener('abort', done);
    }
  });
}
