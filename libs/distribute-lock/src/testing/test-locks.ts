import { HttpAdapterHost } from '@nestjs/core';

import type { Lease } from '../engine/lease/lease.js';
import { DEFAULT_CONNECTION } from '../locks/default-connection.js';
import type { RuntimeSettings } from '../locks/lock-runtime.js';
import { LockConnections } from '../nest/aspect/lock-connections.js';
import { LockInterceptor } from '../nest/aspect/lock.interceptor.js';
import { lockObjectsBy } from '../nest/aspect/locked-method.js';
import { TransportErrors } from '../nest/aspect/transport-errors.js';
import type { LockModuleOptions } from '../nest/module/lock-module-options.js';
import { resolveModuleOptions } from '../nest/module/resolve-module-options.js';
import { LockEvents } from '../events.js';
import type { LockOptions } from '../options/lock-options.js';
import type { Duration } from '../options/values.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { TestClock } from './test-clock.js';
import { type HeldLock, TestConnection } from './test-connection.js';

/**
 * The locks of an application under test: in memory, observable, and with a clock that can be advanced. They follow the same protocol as
 * real locks.
 *
 * Applications that share one `TestLocks` behave as instances of one application.
 *
 * @example
 * ```ts
 * const locks = new TestLocks();
 * const module = await Test.createTestingModule({ imports: [AppModule] })
 *   .overrideProvider(LOCK_RUNTIME)
 *   .useValue(locks)
 *   .compile();
 * ```
 * @public
 */
export class TestLocks {
  private readonly clock = new TestClock();
  private readonly connections = new Map<string, TestConnection>();

  /** {@inheritDoc TestConnection.held} */
  get held(): readonly HeldLock[] {
    return this.connection().held;
  }

  /** {@inheritDoc TestConnection.contend} */
  contend(key: string, options?: LockOptions): Promise<Lease> {
    return this.connection().contend(key, options);
  }

  /** {@inheritDoc TestConnection.lose} */
  lose(key: string): void {
    this.connection().lose(key);
  }

  /** {@inheritDoc TestConnection.outage} */
  outage(): () => void {
    return this.connection().outage();
  }

  /**
   * Locks the methods of objects that tests create with `new`, without Nest. Call it in the set-up file of the tests.
   * @param options - module options that the tests depend on
   * @throws LockConfigurationError when an option is invalid
   *
   * @example
   * ```ts
   * new TestLocks().lockByHand();
   * ```
   */
  lockByHand(options: Partial<LockModuleOptions> = {}): void {
    const { connections, ...settings } = resolveModuleOptions({ connection: 'memory', ...options });
    const events = new LockEvents();
    const engines = Array.from(connections.keys(), (name) => {
      return [name, this.connection(name).newEngine({ ...settings, connection: name, events })] as const;
    });
    const locks = new LockConnections(new Map(engines), settings);
    lockObjectsBy(new LockInterceptor(locks, new TransportErrors(locks, new HttpAdapterHost())));
  }

  /**
   * Advances the clock of the locks without waiting: leases are renewed or end, and waits time out, in order. Timers of your code are
   * not affected.
   */
  advance(by: Duration): Promise<void> {
    return this.clock.advance(by);
  }

  /** The locks of a named connection of the module, or of its `connection` without a name. */
  connection(name: string = DEFAULT_CONNECTION): TestConnection {
    let connection = this.connections.get(name);
    if (connection === undefined) this.connections.set(name, (connection = new TestConnection(this.clock)));
    return connection;
  }

  /** Implements `LockRuntime`. @internal */
  newEngine(name: string, _connection: unknown, settings: RuntimeSettings): LockEngine {
    return this.connection(name).newEngine(settings);
  }
}
