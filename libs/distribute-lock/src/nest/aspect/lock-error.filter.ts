import { type ArgumentsHost, Catch, type ExceptionFilter, type ExecutionContext, type Type } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA, FILTER_CATCH_EXCEPTIONS } from '@nestjs/common/constants.js';
import { type ApplicationConfig, BaseExceptionFilter, type HttpAdapterHost, type ModulesContainer } from '@nestjs/core';
import { defer, mergeMap, type Observable } from 'rxjs';

import { isLockError } from '../../errors.js';
import { responseOf } from './call-scope.js';
import { isGateway } from './lock-metadata.js';
import { classesOf, type TransportErrors } from './transport-errors.js';

/** Lock errors of all copies of this package. */
abstract class AnyCopy {
  static [Symbol.hasInstance](value: unknown): boolean {
    return isLockError(value);
  }
}

/**
 * Maps lock errors that the interceptor does not see: those of guards, middleware and earlier interceptors. The exception goes to the
 * global filter that would get it from a handler, or else to the one of Nest.
 */
export class LockErrorFilter implements ExceptionFilter {
  private readonly others: () => readonly ExceptionFilter[];

  constructor(
    private readonly errors: TransportErrors,
    private readonly host: HttpAdapterHost,
    config: ApplicationConfig,
    modules: ModulesContainer,
  ) {
    const others = (this.others = config.getGlobalFilters.bind(config));
    // The last filter comes first. As `APP_FILTER`, this one would come after those of `useGlobalFilters`.
    config.getGlobalFilters = () => [...others(), this];
    // Nest uses no global filter for gateways.
    for (const { providers } of modules.values())
      for (const { metatype } of providers.values()) {
        if (!isGateway(metatype)) continue;
        const filters = (Reflect.getMetadata(EXCEPTION_FILTERS_METADATA, metatype) ?? []) as readonly object[];
        // Without the filter of an earlier application. Those of the class are behind this one, so they come first.
        const own = filters.filter((filter) => filter.constructor !== LockErrorFilter);
        Reflect.defineMetadata(EXCEPTION_FILTERS_METADATA, [this, ...own], metatype);
      }
  }

  catch(error: unknown, host: ArgumentsHost): unknown {
    const mapped = this.errors.map(error, host as ExecutionContext);
    const pass = (exception: unknown): unknown => this.pass(exception, host);
    // The answer of a filter over RPC is an Observable.
    if (host.getType() === 'rpc')
      return defer(async () => pass(await mapped)).pipe(mergeMap((answer) => answer as Observable<unknown>));
    return mapped instanceof Promise ? mapped.then(pass) : pass(mapped);
  }

  private pass(exception: unknown, host: ArgumentsHost): unknown {
    const type = host.getType<string>();
    const filter = type === 'ws' ? undefined : this.others().findLast((each) => catches(each, exception));
    // 'http' is also the type of calls by `ExternalContextCreator`, which have no response.
    if (type === 'http' && responseOf(host)?.writableEnded !== undefined)
      return (filter ?? new BaseExceptionFilter(this.host.httpAdapter)).catch(exception, host);
    return filter?.catch(exception, host) ?? ofNest(type, exception, host);
  }
}

Catch(AnyCopy)(LockErrorFilter);

function catches(filter: ExceptionFilter, exception: unknown): boolean {
  const types = (Reflect.getMetadata(FILTER_CATCH_EXCEPTIONS, filter.constructor) ?? []) as readonly Type[];
  return types.length === 0 || types.some((type) => exception instanceof type);
}

/** The answer of Nest to an exception that no filter catches. */
async function ofNest(type: string, exception: unknown, host: ArgumentsHost): Promise<unknown> {
  const Filter = type === 'rpc' || type === 'ws' ? (await classesOf(type))?.Filter : undefined;
  if (Filter === undefined) throw exception;
  return new (Filter as new () => ExceptionFilter)().catch(exception, host);
}
