import { Inject, Injectable, Logger } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import { LockConfigurationError } from '../../errors.js';
import type { LeaderWork } from '../../locks/leader.js';
import { LockService } from '../lock.service.js';
import { LOCK_CONNECTIONS } from '../tokens.js';
import { leadersOf } from './leader-metadata.js';
import { LockConnections } from './lock-connections.js';

const logger = new Logger('Leader');

/** Starts the methods with `@Leader` when all modules are initialized. */
@Injectable()
export class LeaderExplorer {
  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(LOCK_CONNECTIONS) private readonly connections: LockConnections,
  ) {}

  /** @throws LockConfigurationError naming the method, when it can never lead */
  start(): void {
    const started = new Set<object>();
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const { metatype, isNotMetatype } = wrapper;
      const type = !isNotMetatype && typeof metatype === 'function' ? metatype : undefined;
      const instance = wrapper.instance as object | null;
      const prototype = (type?.prototype ?? (instance && Object.getPrototypeOf(Object(instance)))) as
        object | null | undefined;
      if (!prototype || typeof prototype !== 'object') continue;
      for (const [name, { key, connectionName, ...options }] of leadersOf(prototype)) {
        const method = `${prototype.constructor.name}.${String(name)}`;
        if (wrapper.isTransient || !wrapper.isDependencyTreeStatic() || instance === null) {
          throw new LockConfigurationError(
            `@Leader on ${method} needs one instance for the application, but Nest creates one for each request or use. Move it to a singleton.`,
          );
        }
        if (started.has(instance)) continue;
        const self = instance as Record<string | symbol, LeaderWork>;
        const service = new LockService(() => this.connections.engine(connectionName), this.connections.settings);
        service.lead(typeof key === 'function' ? key(instance) : key, (term) => self[name](term), {
          name: method,
          ...options,
          onError: (error) =>
            logger.error(
              `${method} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
            ),
        });
      }
      if (instance !== null) started.add(instance);
    }
  }
}
