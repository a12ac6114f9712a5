import type { LeaseLostError } from '../../libs/distribute-lock/src/errors.js';
import { LockEvents } from '../../libs/distribute-lock/src/events.js';
import { LOCK_DEFAULTS } from '../../libs/distribute-lock/src/options/lock-options.js';
import { LockEngine } from '../../libs/distribute-lock/src/engine/lock-engine.js';
import type { CancelTimer, Clock } from '../../libs/distribute-lock/src/runtime/clock.js';
import type { ProcessPlan } from './plan.js';
import { SimulatedStore } from './simulated-store.js';
import type { Happening } from './timeline.js';
import type { World } from './world.js';

/** The shortest turn of the event loop. */
const TURN_MS = 0.01;

/** One process: its clock, its event loop, its connections, and the lock engine under test. */
export class SimulatedProcess implements Clock {
  readonly id: string;
  /** Its name in the recorded history. */
  readonly name: string;
  readonly engine: LockEngine;
  readonly store: SimulatedStore;
  /** Crashed or ended: no event occurs in this process. */
  gone = false;
  draining = false;
  private stoppedAt = 0;
  private stops = 0;
  private backlog: Happening[] = [];

  constructor(
    private readonly world: World,
    readonly index: number,
    readonly plan: ProcessPlan,
  ) {
    this.name = `p${index}`;
    this.id = this.name.padEnd(22, '-');
    this.store = new SimulatedStore(world, this);
    const events = new LockEvents();
    events.listen(({ type, name, error }) => {
      if (type !== 'lost') return;
      const lost = error as LeaseLostError;
      // The holds of a multi-key call have its name, and one key each.
      world.ledger.notified(name.endsWith('/') ? name + lost.key : name, lost, this);
    });
    world.recorder.run({ type: 'started', of: this.name, ...(plan.deaf ? { polls: true } : {}) });
    this.engine = new LockEngine(this.store, {
      defaults: LOCK_DEFAULTS,
      maxWaitersPerKey: 1_000,
      maxWaiters: 10_000,
      events,
      clock: this,
      random: () => world.random.next(),
      processId: this.id,
    });
  }

  get turning(): boolean {
    return !this.gone && this.stops === 0;
  }

  now(): number {
    return this.plan.offset + this.world.timeline.now * this.plan.rate;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const { timeline, random, plan } = this.world;
    // Slightly more, because a rounded sum of times may be before the intended time.
    const at = timeline.now + delayMs / this.plan.rate + 1e-6 + plan.lagMs * random.next();
    const happening = timeline.add(at, this, callback, true);
    return () => (happening.cancelled = true);
  }

  nextTurn(callback: () => void): void {
    this.world.timeline.add(this.world.timeline.now + TURN_MS, this, callback);
  }

  /** The real duration of `localMs` on its clock. */
  realMs(localMs: number): number {
    return localMs / this.plan.rate;
  }

  /** Events of a stopped process wait until it continues. */
  postpone(happening: Happening): void {
    this.backlog.push(happening);
  }

  stop(): void {
    if (this.stops === 0) this.stoppedAt = this.world.timeline.now;
    this.stops += 1;
  }

  /** Due timers and arrived data may come in either order, as in a real event loop. */
  goOn(): void {
    this.stops -= 1;
    if (this.stops > 0 || this.gone) return;
    const { timeline, random } = this.world;
    this.stood();
    const first = random.chance(0.5);
    for (const timers of [first, !first]) {
      for (const happening of this.backlog) if (happening.timer === timers) timeline.again(happening, timeline.now);
    }
    this.backlog = [];
  }

  private stood(): void {
    this.world.recorder.record(this, { type: 'standstill', from: this.stoppedAt });
  }

  /** Shuts the application down; the process ends afterwards, also with running work. */
  drain(timeoutMs: number): void {
    if (this.draining) return;
    this.draining = true;
    const { recorder } = this.world;
    recorder.record(this, { type: 'shutdown', withinMs: this.realMs(timeoutMs) });
    void this.engine
      .drain(timeoutMs)
      .then(() => this.engine.close())
      .then(() => {
        recorder.record(this, { type: 'closed' });
        this.world.note('closed', this);
        this.world.trouble();
        this.crash();
      });
  }

  crash(): void {
    if (this.stops > 0) this.stood();
    this.gone = true;
    this.world.recorder.run({ type: 'killed', of: this.name });
    this.store.inbox.close();
  }
}
