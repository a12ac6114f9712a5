import { type InjectionToken, Logger, type Provider } from '@nestjs/common';
import { APP_INTERCEPTOR, ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';

import { LockEvents } from '../../events.js';
import type { LockEngine } from '../../engine/lock-engine.js';
import { DEFAULT_CONNECTION } from '../../locks/default-connection.js';
import { copiesOf } from '../../runtime/process-wide.js';
import { LockConnections } from '../aspect/lock-connections.js';
import { LockErrorFilter } from '../aspect/lock-error.filter.js';
import { LeaderExplorer } from '../aspect/leader.explorer.js';
import { LockExplorer } from '../aspect/lock.explorer.js';
import { LockInterceptor } from '../aspect/lock.interceptor.js';
import { RouteCheck } from '../aspect/route-check.js';
import { TransportErrors } from '../aspect/transport-errors.js';
import { lockServiceToken } from '../decorators/inject-lock-service.decorator.js';
import { LockService } from '../lock.service.js';
import {
  ASPECT,
  LOCK_CONNECTIONS,
  LOCK_ENGINES,
  LOCK_MODULE_OPTIONS,
  LOCK_RUNTIME,
  LOCK_SETTINGS,
  TRANSPORT_ERRORS,
} from '../tokens.js';
import { logEvents } from '../../locks/event-log.js';
import { LockLifecycle, moduleDoor } from './lock-lifecycle.js';
import { type LockRuntime, processRuntime } from '../../locks/lock-runtime.js';
import { type LockSettings, resolveModuleOptions } from './resolve-module-options.js';

/** All providers of the module except those of its options. */
export const lockProviders: readonly Provider[] = [
  { provide: LOCK_SETTINGS, useFactory: resolveModuleOptions, inject: [LOCK_MODULE_OPTIONS] },
  { provide: LockEvents, useFactory: newEvents },
  { provide: LOCK_RUNTIME, useValue: processRuntime },
  { provide: LOCK_ENGINES, useFactory: newEngines, inject: [LOCK_RUNTIME, LOCK_SETTINGS, LockEvents] },
  { provide: LOCK_CONNECTIONS, useFactory: newConnections, inject: [LOCK_ENGINES, LOCK_SETTINGS] },
  serviceProvider(DEFAULT_CONNECTION),
  { provide: TRANSPORT_ERRORS, useClass: TransportErrors },
  LockInterceptor,
  {
    provide: LockErrorFilter,
    useFactory: (...given: ConstructorParameters<typeof LockErrorFilter>) => new LockErrorFilter(...given),
    inject: [TRANSPORT_ERRORS, HttpAdapterHost, ApplicationConfig, ModulesContainer],
  },
  { provide: ASPECT, useExisting: LockInterceptor },
  { provide: APP_INTERCEPTOR, useExisting: LockInterceptor },
  RouteCheck,
  LockExplorer,
  LeaderExplorer,
  LockLifecycle,
];

/** Exports for modules that use locks: the aspect, its dependencies, and the services. `last-hook.ts` uses the life cycle. */
export const lockExports = [
  LOCK_CONNECTIONS,
  TRANSPORT_ERRORS,
  ASPECT,
  LockInterceptor,
  LockService,
  LockEvents,
  LockLifecycle,
];

/** Provides the services under the classes of other copies of this package too, so that one module serves all copies. */
export function providersForCopies(): (Provider & { provide: InjectionToken })[] {
  const own = { LockService, LockEvents };
  return Object.entries(own).flatMap(([name, ownClass]) =>
    copiesOf(name).flatMap((copy) => (copy === ownClass ? [] : [{ provide: copy, useExisting: ownClass }])),
  );
}

/** The `LockService` of a named connection. */
export function serviceProvider(name: string): Provider {
  return {
    provide: lockServiceToken(name),
    useFactory: (connections: LockConnections) => new LockService(() => connections.engine(name), connections.settings),
    inject: [LOCK_CONNECTIONS],
  };
}

function newEvents(): LockEvents {
  const events = new LockEvents();
  logEvents(events, new Logger('DistributeLock'));
  return events;
}

function newEngines(
  runtime: LockRuntime,
  { connections, ...settings }: LockSettings,
  events: LockEvents,
): Map<string, LockEngine> {
  const engines = Array.from(connections, ([name, connection]) => {
    return [
      name,
      runtime.newEngine(name, connection, { ...settings, door: moduleDoor, connection: name, events }),
    ] as const;
  });
  return new Map(engines);
}

function newConnections(
  engines: ReadonlyMap<string, LockEngine>,
  { contendedStatus, abortOnDisconnect, errors, presets }: LockSettings,
): LockConnections {
  return new LockConnections(engines, { contendedStatus, abortOnDisconnect, errors, presets });
}
