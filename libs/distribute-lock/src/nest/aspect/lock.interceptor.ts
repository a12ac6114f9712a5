import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';

import { isLockError, LockAbortedError } from '../../errors.js';
import { runHolding } from '../../engine/lease/held-leases.js';
import type { Lease } from '../../engine/lease/lease.js';
import { throwIfLost } from '../../engine/lease/loss.js';
import { rejectToCaller } from '../../runtime/caller-stack.js';
import { LOCK_CONNECTIONS, TRANSPORT_ERRORS } from '../tokens.js';
import { CallScope } from './call-scope.js';
import { checkUndeclared, onlyPromise, startOnNext, startOnSubscribe, undeclared } from './deferred-results.js';
import { eachIterator, releaseAfterRead, Hold, isAsyncIterable, replace } from './held-results.js';
import { LockConnections, type PreparedLock } from './lock-connections.js';
import { recordAspect } from './lock-metadata.js';
import type { LockSpec } from './lock-spec.js';
import { setContendedStatus, type TransportErrors } from './transport-errors.js';

/** Any method. */
export type AnyMethod = (this: unknown, ...args: never[]) => unknown;

/** A call of a locked method. */
export interface MethodCall {
  readonly spec: LockSpec;
  readonly method: AnyMethod;
  readonly self: object;
  /** The real arguments, after pipes. */
  readonly args: unknown[];
  /** The scheduler calls the method, if it is a job. */
  readonly scheduled?: boolean;
}

/**
 * The aspect of `@DistributeLock`, with two entry points: Nest calls `intercept()` for every request, and every locked method calls
 * `around()`, inside and outside of requests.
 *
 * Nest creates an instance for each module that uses the aspect, so it has no state of a call: that is in the {@link CallScope}.
 * @public
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  /** @internal */
  constructor(
    @Inject(LOCK_CONNECTIONS) private readonly connections: LockConnections,
    @Inject(TRANSPORT_ERRORS) private readonly errors: TransportErrors,
  ) {
    recordAspect(this);
  }

  /**
   * Opens the scope of the request, and maps lock errors that leave the handler to exceptions of its transport. It acquires no lock,
   * because pipes have not run yet.
   */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    // Registered globally and by the decorator: the outer interceptor has opened the scope.
    if (CallScope.current?.context === context) return next.handle();
    const scope = new CallScope(context);
    return new Observable((subscriber) => {
      subscriber.add(scope.begin());
      return scope.run(() =>
        next.handle().subscribe({
          next: (value) => subscriber.next(this.mapWhenRead(value, scope)),
          error: (error) => {
            const mapped = this.errors.map(error, context);
            if (mapped instanceof Promise) void mapped.then((exception: unknown) => subscriber.error(exception));
            else subscriber.error(mapped);
          },
          complete: () => subscriber.complete(),
        }),
      );
    });
  }

  /** Maps errors of an async iterable, which Nest reads after `intercept()` has returned. */
  private mapWhenRead(value: unknown, scope: CallScope): unknown {
    if (isAsyncIterable(value))
      eachIterator(value, (iterator) => {
        for (const name of ['next', 'return', 'throw'] as const) {
          const step = iterator[name]?.bind(iterator);
          if (step === undefined) continue;
          replace(iterator, name, async (...given: [] | [unknown]) => {
            const end = scope.begin();
            try {
              // Nest ends the iterator outside of the request when the client leaves.
              return await scope.run(() => step(...(given as [unknown])));
            } catch (error) {
              throw await this.errors.map(error, scope.context);
            } finally {
              end();
            }
          });
        }
      });
    return value;
  }

  /**
   * Runs a call of a locked method: renders the key, acquires the lock, calls the method, and releases the lock after its result.
   * @internal
   */
  around(call: MethodCall): unknown {
    // Captured now, because the result may be read outside the request.
    const scope = CallScope.current;
    switch (call.spec.shape) {
      case 'observable':
        return startOnSubscribe((unsubscribed) => this.run(call, scope, unsubscribed));
      case 'iterable':
        return startOnNext(() => this.run(call, scope));
      case 'unknown':
        return onlyPromise(this.run(call, scope), (result) => undeclared(call.spec.method, result));
      default:
        return this.run(call, scope);
    }
  }

  private async run(call: MethodCall, scope: CallScope | undefined, unsubscribed?: AbortSignal): Promise<unknown> {
    const { spec, method, self, args } = call;
    let lock: PreparedLock;
    let lease: Lease;
    try {
      const ticks = call.scheduled === true ? this.connections.ticks.get(spec) : undefined;
      const tick = ticks?.ofCall(self);
      lock = this.connections.prepare(spec, self, args);
      const acquire = (): Promise<Lease> => this.acquire(lock, call, scope, unsubscribed);
      lease = await (tick ? ticks!.acquire(tick, lock, spec.name, acquire) : acquire());
    } catch (error) {
      this.connections.reportKeyFault(spec, error);
      const isJob = this.connections.jobs.has(spec);
      if (isJob && spec.onContended === 'skip' && isLockError(error, 'LOCK_SHUTDOWN')) return undefined;
      if (isJob && call.scheduled === true && isLockError(error, 'LOCK_UNAVAILABLE')) {
        return this.connections.reportJob(spec, error);
      }
      return resultOfContention(error, call);
    }
    for (const index of spec.leaseParameters) args[index] = lease;
    let result: unknown;
    try {
      const returned: unknown = runHolding(lease, () => Reflect.apply(method, self, args as never[]));
      if (spec.shape === 'unknown') checkUndeclared(returned, spec.method);
      result = await returned;
    } catch (error) {
      await lease.release();
      throw error;
    }
    const releaseAfter = releaseAfterRead(result);
    if (releaseAfter !== undefined) return releaseAfter(new Hold(lease, lock.options, spec.name, scope));
    await lease.release();
    throwIfLost(lease, lock.options);
    return result;
  }

  private acquire(
    { engine, options, abortOnDisconnect }: PreparedLock,
    { spec, self, args }: MethodCall,
    scope: CallScope | undefined,
    unsubscribed: AbortSignal | undefined,
  ): Promise<Lease> {
    const key = spec.render(args, scope, self);
    const clientLeft = abortOnDisconnect ? scope?.clientLeft : undefined;
    const { name } = spec;
    const signal = unsubscribed;
    // Without the rare field where possible, because a lease keeps its call in memory.
    const acquired = engine.acquire(
      clientLeft === undefined
        ? { key, name, options, scoped: true, signal }
        : { key, name, options, scoped: true, signal, endsWait: clientLeft },
    );
    return unsubscribed === undefined ? acquired : unlessUnsubscribed(acquired, unsubscribed, spec);
  }
}

/** Releases a lock that was granted while the subscriber unsubscribed. */
async function unlessUnsubscribed(acquired: Promise<Lease>, signal: AbortSignal, { name }: LockSpec): Promise<Lease> {
  const lease = await acquired;
  if (!signal.aborted) return lease;
  await lease.release();
  throw new LockAbortedError(`The subscriber of ${name} unsubscribed while it waited for the lock.`, {
    key: lease.key,
    cause: signal.reason,
  });
}

/**
 * Returns the result of a contended call as `onContended` specifies.
 * @throws the error itself with `onContended: 'throw'`, and every other error
 */
function resultOfContention(error: unknown, { spec, self, args }: MethodCall): unknown {
  if (!isLockError(error, 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT')) return rejectToCaller(error);
  const { onContended, contendedStatus, name } = spec;
  if (contendedStatus !== undefined) setContendedStatus(error, contendedStatus);
  if (onContended === 'throw') return rejectToCaller(error);
  if (onContended === 'skip') return undefined;
  const { code, retryAfterMs } = error;
  return Reflect.apply(onContended, self, [{ name, code, retryAfterMs, error }, ...args]);
}
