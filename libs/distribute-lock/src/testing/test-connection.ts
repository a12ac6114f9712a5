import { isLockError, LockUsageError } from '../errors.js';
import { LockEvents } from '../events.js';
import { checkKey } from '../keys/check-key.js';
import type { Lease } from '../engine/lease/lease.js';
import { LOCK_DEFAULTS, type LockOptions } from '../options/lock-options.js';
import type { LockEngineSettings } from '../engine/lock-engine.js';
import { LockService } from '../nest/lock.service.js';
import { ObservedEngine } from './observed-engine.js';
import type { TestClock } from './test-clock.js';
import { TestStore } from './test-store.js';

/** A lock held by the application. @public */
export interface HeldLock {
  readonly key: string;
  /** Class and method, or option `name` of a call of `LockService`. */
  readonly name: string;
}

/** The locks of one connection in a test. @public */
export class TestConnection {
  private readonly store: TestStore;
  private readonly engines: ObservedEngine[] = [];
  private elsewhere: LockService | undefined;

  /** @internal */
  constructor(private readonly clock: TestClock) {
    this.store = new TestStore(clock);
  }

  /** The locks that the application holds, oldest first. */
  get held(): readonly HeldLock[] {
    return this.given().map(({ call: { key, name } }) => ({ key, name }));
  }

  /**
   * Acquires the lock as another instance of the application: callers are rejected or wait until the returned lease is released.
   * @param options - `{ ttl: '10s', renew: false }` simulates an instance that crashed: the lock becomes free after 10 s
   * @throws LockUsageError when the application holds the lock
   */
  async contend(key: string, options: LockOptions = {}): Promise<Lease> {
    this.elsewhere ??= new LockService(() => this.newEngine(OTHER_INSTANCE, false));
    try {
      return await this.elsewhere.acquire(key, { ...options, wait: 0 });
    } catch (error) {
      if (!isLockError(error, 'LOCK_CONTENDED')) throw error;
      throw new LockUsageError(`contend(${JSON.stringify(key)}) comes too late: ${this.holderOf(key)} holds the lock.`);
    }
  }

  /**
   * Makes the holder lose the lock: its `signal` aborts with a `LeaseLostError`, `isHeld()` is false, and the lock is free.
   * @throws LockUsageError when the application does not hold the lock
   */
  lose(key: string): void {
    checkKey(key, 'lose()');
    const lost = this.engines.filter((engine) => engine.lose(key));
    if (lost.length > 0) return;
    throw new LockUsageError(`lose(${JSON.stringify(key)}) finds no holder. Held now: ${this.shown()}.`);
  }

  /**
   * Makes Redis unavailable: calls reject with a `LockUnavailableError` (503 over HTTP), at once or after their `wait`, and holders lose
   * their leases when `ttl` has passed.
   * @returns a function that ends the outage
   */
  outage(): () => void {
    const { store } = this;
    let ends = 1;
    store.outages += 1;
    return () => {
      store.outages -= ends;
      ends = 0;
    };
  }

  /** @internal */
  newEngine(settings: LockEngineSettings, observed = true): ObservedEngine {
    const engine = new ObservedEngine(this.store, { ...settings, clock: this.clock });
    if (observed) this.engines.push(engine);
    return engine;
  }

  private given(): ReturnType<ObservedEngine['held']> {
    return this.engines.flatMap((engine) => engine.held());
  }

  private holderOf(key: string): string {
    const holder = this.given().find(({ call }) => call.key === key);
    return holder === undefined ? 'an earlier contend()' : `"${holder.call.name}" of the application`;
  }

  private shown(): string {
    return this.held.map(({ key }) => JSON.stringify(key)).join(', ') || 'nothing';
  }
}

const OTHER_INSTANCE: LockEngineSettings = {
  defaults: LOCK_DEFAULTS,
  maxWaitersPerKey: Infinity,
  maxWaiters: Infinity,
  events: new LockEvents(),
};
