import { Inject } from '@nestjs/common';

import { processWide } from '../../runtime/process-wide.js';
import { DEFAULT_CONNECTION } from '../../locks/default-connection.js';
import { recordInjected } from '../aspect/lock-metadata.js';
import { LockService } from '../lock.service.js';

/** Names that any application of this process has requested. */
const requested = processWide('asked connections', () => new Set<string>());

/**
 * Token of the `LockService` of a named connection, for `useFactory` and `app.get()`.
 *
 * With `forRootAsync`, create the token before the application, for example in `inject` or in a constant of a module file. When Nest
 * collects the providers, the names of the connections are not known yet, so only requested names get a service.
 * @public
 */
export function lockServiceToken(connectionName?: string): symbol | typeof LockService {
  if (connectionName === undefined || connectionName === DEFAULT_CONNECTION) return LockService;
  requested.add(connectionName);
  // Nest shows this text if the provider is missing.
  return Symbol.for(
    `Add connections.${connectionName} to LockModule; with forRootAsync() also call lockServiceToken("${connectionName}") before the application is created: its LockService`,
  );
}

/** Names that need a service although the options of `forRootAsync` are not known yet. @internal */
export function requestedConnections(): ReadonlySet<string> {
  return requested;
}

/**
 * Injects the `LockService` of one of the module's `connections`, or of `connection` when no name is given.
 *
 * @example
 * ```ts
 * constructor(@InjectLockService('reports') private readonly locks: LockService) {}
 * ```
 * @public
 */
export function InjectLockService(connectionName?: string): ParameterDecorator & PropertyDecorator {
  const inject = Inject(lockServiceToken(connectionName));
  return (target: object, name: string | symbol | undefined, index?: number) => {
    // TypeScript calls a property decorator without an index, despite the declared type.
    inject(target, name, index!);
    if (connectionName !== undefined)
      recordInjected(typeof target === 'function' ? target : target.constructor, connectionName);
  };
}
