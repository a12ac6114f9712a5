import { Inject } from '@nestjs/common';

import { processWide } from '../../runtime/process-wide.js';
import { DEFAULT_CONNECTION } from '../aspect/lock-connections.js';
import { recordInjected } from '../aspect/lock-metadata.js';
import { LockService } from '../lock.service.js';

/** Names that somebody asked for, in any application of this process. */
const asked = processWide('asked connections', () => new Set<string>());

/**
 * Token of the `LockService` of a named connection, for `useFactory` and `app.get()`.
 *
 * With `forRootAsync` make it before the application, as `inject` and a constant of a file do: the names of the connections are not
 * known yet when Nest collects the providers, so there are services for those names only that somebody has asked for.
 * @public
 */
export function lockServiceToken(connectionName?: string): symbol | typeof LockService {
  if (connectionName === undefined || connectionName === DEFAULT_CONNECTION) return LockService;
  asked.add(connectionName);
  // Nest shows this text where it finds no provider.
  return Symbol.for(
    `LockModule has no option connections.${connectionName}, or forRootAsync() was asked for it too late: its LockService`,
  );
}

/** Names that `forRootAsync` must be ready to provide, before it knows its options. @internal */
export function askedConnections(): ReadonlySet<string> {
  return asked;
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
    // As a property decorator it is called without an index, whatever the types say.
    inject(target, name, index!);
    if (connectionName !== undefined)
      recordInjected(typeof target === 'function' ? target : target.constructor, connectionName);
  };
}
