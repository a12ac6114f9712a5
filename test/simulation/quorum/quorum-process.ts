import { LockEvents } from '../../../libs/distribute-lock/src/events.js';
import { isLockError } from '../../../libs/distribute-lock/src/errors.js';
import type { LeaseHandle } from '../../../libs/distribute-lock/src/engine/lease/lease-handle.js';
import { LOCK_DEFAULTS } from '../../../libs/distribute-lock/src/options/lock-options.js';
import { LockEngine } from '../../../libs/distribute-lock/src/engine/lock-engine.js';
import type { CancelTimer, Clock } from '../../../libs/distribute-lock/src/runtime/clock.js';
import { QuorumLockStore } from '../../../libs/distribute-lock/src/store/quorum/quorum-lock-store.js';
import { recordedOptions } from '../recorder.js';
import { SimulatedConnection } from './simulated-connection.js';
import type { QuorumWorld } from './quorum-world.js';

/** One process with its clock, its connections to all nodes, the store under test, and callers. */
export class QuorumProcess implements Clock {
  readonly id: string;
  readonly name: string;
  readonly connections: readonly SimulatedConnection[];
  gone = false;
  /** Number of callers that have not ended. */
  busy = 0;
  private readonly engine: LockEngine;
  private readonly rate: number;
  readonly offset: number;
  private calls = 0;

  constructor(
    private readonly world: QuorumWorld,
    index: number,
  ) {
    const { random } = world;
    this.name = `p${index}`;
    this.id = this.name.padEnd(22, '-');
    this.rate = random.between(0.997, 1.003);
    this.offset = random.between(0, 1e6);
    this.connections = world.nodes.map((node) => new SimulatedConnection(world, this, node));
    const members = this.connections.map((connection) => ({ connection: connection, inbox: connection }));
    this.engine = new LockEngine(new QuorumLockStore(members, this, () => random.next()), {
      defaults: LOCK_DEFAULTS,
      maxWaitersPerKey: 1_000,
      maxWaiters: 1_000,
      events: new LockEvents(),
      clock: this,
      random: () => random.next(),
      processId: this.id,
    });
  }

  now(): number {
    return this.offset + this.world.now * this.rate;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    let cancelled = false;
    this.world.in(delayMs / this.rate + 1e-6, () => {
      if (!cancelled && !this.gone) callback();
    });
    return () => (cancelled = true);
  }

  nextTurn(callback: () => void): void {
    this.after(0.01, callback);
  }

  /** The real duration of `localMs` on its clock. */
  realMs(localMs: number): number {
    return localMs / this.rate;
  }

  crash(): void {
    this.gone = true;
    this.world.recorder.run({ type: 'killed', of: this.name });
  }

  async call(untilMs: number): Promise<void> {
    this.busy += 1;
    const { world } = this;
    while (world.now < untilMs && !this.gone) await this.once();
    this.busy -= 1;
  }

  private async once(): Promise<void> {
    const { world } = this;
    const { random } = world;
    const key = world.keys === 1 ? 'k0' : `k${random.int(0, world.keys - 1)}`;
    const ttlMs = random.pick(world.ttlsMs);
    const waitMs = random.chance(0.3) ? 0 : random.int(1, 3_000);
    const abort = random.chance(0.15) ? new AbortController() : undefined;
    const { recorder } = world;
    const op = `${this.name}/${(this.calls += 1)}`;
    if (abort !== undefined) {
      this.after(random.between(0, waitMs + 1), () => {
        recorder.record(this, { type: 'abort', op });
        abort.abort();
      });
    }
    const options = { ...LOCK_DEFAULTS, ttlMs, waitMs, renew: random.chance(0.8) };
    const recorded = recordedOptions(options, this);
    recorder.record(this, { type: 'ask', op, call: 'acquire', keys: [key], options: recorded });
    world.note(`${this.id} asks for ${key}, ttl ${ttlMs}, wait ${waitMs}`);
    try {
      const call = { key, name: 'simulated', options, scoped: false, signal: abort?.signal };
      await this.hold((await this.engine.acquire(call)) as LeaseHandle, op);
    } catch (error) {
      const code = isLockError(error) ? error.code : 'none';
      recorder.record(this, { type: 'refused', op, code, message: String(error) });
    }
    if (!this.gone) await this.pause(random.between(0, world.longPauses ? 400 : 40));
  }

  private async hold(lease: LeaseHandle, op: string): Promise<void> {
    const { world } = this;
    world.holders.started(this, lease, op);
    world.note(`${this.id} holds ${lease.key}, ${lease.fencingToken}`);
    const holdMs = world.random.chance(world.longHolds) ? world.random.between(0, 900) : world.random.between(0, 30);
    await this.pause(holdMs);
    world.holders.ended(lease);
    await lease.release();
    world.recorder.record(this, { type: 'released', op });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }
}
