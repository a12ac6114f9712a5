import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';

import { isLockError, LockAbortedError } from '../../errors.js';
import { runHolding } from '../../lease/held-leases.js';
import type { Lease } from '../../lease/lease.js';
import { throwIfLost } from '../../lease/on-lost.js';
import { acquireOf } from '../lock-client.js';
import { LOCK_CONNECTIONS, TRANSPORT_ERRORS } from '../tokens.js';
import { CallScope } from './call-scope.js';
import { startOnNext, startOnSubscribe } from './deferred-results.js';
import { eachIterator, goesOn, Hold, isAsyncIterable, replace } from './held-results.js';
import { LockConnections, type PreparedLock } from './lock-connections.js';
import type { LockSpec } from './lock-spec.js';
import { answerWith, type TransportErrors } from './transport-errors.js';

/** Any method, seen from outside its class. */
export type AnyMethod = (this: unknown, ...args: never[]) => unknown;

/** A call of a locked method, on its way to the aspect. */
export interface LockedCall {
  readonly spec: LockSpec;
  readonly method: AnyMethod;
  readonly self: object;
  /** The real arguments, after pipes. */
  readonly args: unknown[];
}

/**
 * The aspect behind `@DistributeLock`, with two entrances: Nest calls `intercept()` for every request, and every locked
 * method calls `around()`, whether a request is under way or not.
 *
 * Nest makes instances of its own for modules that use it, so it keeps nothing but what was injected: what a call shares
 * lives in its {@link CallScope}.
 * @public
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  /** @internal */
  constructor(
    @Inject(LOCK_CONNECTIONS) private readonly connections: LockConnections,
    @Inject(TRANSPORT_ERRORS) private readonly errors: TransportErrors,
  ) {}

  /**
   * Opens the scope of the request, and turns lock errors that leave the handler into those of its transport. It takes no
   * lock: pipes have not run yet.
   */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    // Registered for the application and by the decorator: the outer one has done it.
    if (CallScope.current?.context === context) return next.handle();
    const scope = new CallScope(context);
    return new Observable((subscriber) => {
      subscriber.add(scope.begin());
      return scope.run(() =>
        next.handle().subscribe({
          next: (value) => subscriber.next(this.mapWhenRead(value, context)),
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

  /** The reader of what a handler hands out piece by piece is Nest itself, outside of `intercept()`. */
  private mapWhenRead(value: unknown, context: ExecutionContext): unknown {
    if (isAsyncIterable(value))
      eachIterator(value, (iterator) => {
        const next = iterator.next.bind(iterator);
        replace(iterator, 'next', async (...given: [] | [unknown]) => {
          try {
            return await next(...given);
          } catch (error) {
            throw await this.errors.map(error, context);
          }
        });
      });
    return value;
  }

  /**
   * The entrance of locked methods: makes the key from the arguments, acquires, lets the method proceed, and releases
   * after its result.
   * @internal
   */
  around(call: LockedCall): unknown {
    // Taken now: whoever reads the result later may have left the request.
    const scope = CallScope.current;
    switch (call.spec.shape) {
      case 'observable':
        return startOnSubscribe((leaving) => this.run(call, scope, leaving));
      case 'generator':
        return startOnNext(() => this.run(call, scope));
      default:
        return this.run(call, scope);
    }
  }

  private async run(call: LockedCall, scope: CallScope | undefined, leaving?: AbortSignal): Promise<unknown> {
    const { spec, method, self, args } = call;
    let lock: PreparedLock;
    let lease: Lease;
    try {
      lock = this.connections.prepare(spec);
      lease = await this.acquire(lock, call, scope, leaving);
    } catch (error) {
      return answerContention(error, call);
    }
    for (const index of spec.leaseParameters) args[index] = lease;
    let result: unknown;
    try {
      result = await runHolding(lease, () => Reflect.apply(method, self, args as never[]));
    } catch (error) {
      await lease.release();
      throw error;
    }
    const releaseAfter = goesOn(result);
    if (releaseAfter !== undefined) return releaseAfter(new Hold(lease, lock.options, spec.name, scope));
    await lease.release();
    throwIfLost(lease, lock.options);
    return result;
  }

  private acquire(
    { client, options, abortOnDisconnect }: PreparedLock,
    { spec, self, args }: LockedCall,
    scope: CallScope | undefined,
    leaving: AbortSignal | undefined,
  ): Promise<Lease> {
    const key = spec.render(args, scope, self);
    const clientLeft = abortOnDisconnect ? scope?.clientLeft : undefined;
    const call = { name: spec.name, options, scoped: true, signal: leaving, endsWait: clientLeft };
    const acquired = acquireOf(client, key, call);
    return leaving === undefined ? acquired : unlessLeft(acquired, leaving, spec);
  }
}

/** The lock may have come at the moment at which the caller left. */
async function unlessLeft(acquired: Promise<Lease>, signal: AbortSignal, { name }: LockSpec): Promise<Lease> {
  const lease = await acquired;
  if (!signal.aborted) return lease;
  await lease.release();
  throw new LockAbortedError(`The caller of ${name} left while it waited for its lock.`, {
    key: lease.key,
    cause: signal.reason,
  });
}

/**
 * What a call whose lock could not be had ends with, as `onContended` says.
 * @throws the error itself, where nothing else was asked for, or where it is not about contention
 */
function answerContention(error: unknown, { spec, self, args }: LockedCall): unknown {
  if (!isLockError(error, 'LOCK_CONTENDED', 'LOCK_WAIT_TIMEOUT')) throw error;
  const { onContended, contendedStatus, name } = spec;
  if (contendedStatus !== undefined) answerWith(error, contendedStatus);
  if (onContended === 'throw') throw error;
  if (onContended === 'skip') return undefined;
  const { code, retryAfterMs } = error;
  return Reflect.apply(onContended, self, [{ name, code, retryAfterMs, error }, ...args]);
}
