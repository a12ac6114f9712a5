import { LockConfigurationError } from '../../errors.js';
import type { Lease } from '../../lease/lease.js';
import type { LockCall } from '../../lease/lock-call.js';
import type { LockInspection } from '../../lease/lock-inspection.js';
import { LOCK_DEFAULTS, type ResolvedLockOptions, resolveLockOptions } from '../../options/lock-options.js';
import type { LockClient } from '../lock-client.js';
import type { LockErrorMappers } from './error-mapping.js';
import { type LockSpec, namingMethod } from './lock-spec.js';

/** The name of the module's `connection`, which is used where none is chosen. */
export const DEFAULT_CONNECTION = 'default';

/** A lock of a method, as this application runs it. */
export interface PreparedLock {
  readonly client: LockClient;
  readonly options: ResolvedLockOptions;
  /** A client that leaves ends the wait. */
  readonly abortOnDisconnect: boolean;
}

/** What the module says about calls of locked methods. */
export interface ConnectionSettings {
  /** HTTP status that says that a lock is taken. */
  readonly contendedStatus: number;
  /** A client that leaves ends the waits of its request. */
  readonly abortOnDisconnect: boolean;
  /** Exceptions of the user's own. */
  readonly errors: LockErrorMappers;
}

/** The lock clients of one application, and what each locked method makes of them. */
export class LockConnections {
  private readonly prepared = new WeakMap<LockSpec, PreparedLock>();

  constructor(
    private readonly clients: ReadonlyMap<string, LockClient>,
    readonly settings: ConnectionSettings,
  ) {}

  /** @throws LockConfigurationError when there is no connection of that name */
  client(name: string = DEFAULT_CONNECTION): LockClient {
    const client = this.clients.get(name);
    if (client !== undefined) return client;
    throw new LockConfigurationError(
      `Option "connectionName" is "${name}", but LockModule has no such connection. It has ${[...this.clients.keys()].join(', ')}.`,
    );
  }

  /**
   * A client that may not exist: another application in this process has asked for its name. It fails when it is used,
   * and the boot sweep fails before for classes that inject it.
   */
  clientOnDemand(name: string): LockClient {
    return this.clients.get(name) ?? new MissingClient(() => this.client(name));
  }

  /**
   * Lays the options of the decorator over those of the module. Done once a lock, not once a call.
   * @throws LockConfigurationError naming the method
   */
  prepare(spec: LockSpec): PreparedLock {
    const known = this.prepared.get(spec);
    if (known !== undefined) return known;
    try {
      const client = this.client(spec.connectionName);
      const { abortOnDisconnect = this.settings.abortOnDisconnect } = spec;
      const options = resolveLockOptions(spec.options, client.defaults);
      const prepared = { client, options, abortOnDisconnect: abortOnDisconnect && options.waitMs > 0 };
      this.prepared.set(spec, prepared);
      return prepared;
    } catch (error) {
      throw namingMethod(error, spec.method);
    }
  }
}

class MissingClient implements LockClient {
  readonly defaults = LOCK_DEFAULTS;

  constructor(private readonly find: () => LockClient) {}

  async acquire(call: LockCall): Promise<Lease> {
    return this.find().acquire(call);
  }

  async acquireSeveral(calls: readonly LockCall[]): Promise<Lease> {
    return this.find().acquireSeveral(calls);
  }

  async inspect(key: string): Promise<LockInspection> {
    return this.find().inspect(key);
  }

  async forceRelease(key: string): Promise<boolean> {
    return this.find().forceRelease(key);
  }

  refuse(): void {}

  async drain(): Promise<void> {}

  async close(): Promise<void> {}
}
