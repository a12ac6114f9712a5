import 'reflect-metadata';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';

import type { BoundParameter } from '../../keys/key-roots.js';
import { processWide } from '../../runtime/process-wide.js';
import type { LockSpec } from './lock-spec.js';

const LOCKS = 'nestjs-distribute-lock:locks';
const LEASE_PARAMETERS = 'nestjs-distribute-lock:lease-parameters';

const INJECTED = 'nestjs-distribute-lock:injected-connections';

/** Aspects that LockModule created, in all copies of this package. */
const aspects = processWide('aspects', () => new WeakSet<object>());

/** Locks of one prototype by method, the lowest decorator first. */
type MethodLocks = ReadonlyMap<string | symbol, readonly LockSpec[]>;
type Parameters = ReadonlyMap<string | symbol, readonly number[]>;

/**
 * Records the lock on the prototype, for the check at start-up. Not on the method, because another decorator may replace it.
 */
export function recordLock(target: object, name: string | symbol, spec: LockSpec): void {
  const locks = locksOf(target);
  Reflect.defineMetadata(LOCKS, new Map(locks).set(name, [...(locks.get(name) ?? []), spec]), target);
}

/** Locked methods of this prototype, without inherited ones. */
export function locksOf(prototype: object): MethodLocks {
  return (Reflect.getOwnMetadata(LOCKS, prototype) as MethodLocks | undefined) ?? new Map();
}

/** Records a parameter that receives the lease. */
export function recordLeaseParameter(target: object, name: string | symbol, index: number): void {
  const parameters = leaseParametersOf(target);
  const indexes = [...(parameters.get(name) ?? []), index];
  Reflect.defineMetadata(LEASE_PARAMETERS, new Map(parameters).set(name, indexes), target);
}

/** Methods of this prototype with lease parameters, and the indexes of these parameters. */
export function leaseParametersOf(prototype: object): Parameters {
  return (Reflect.getOwnMetadata(LEASE_PARAMETERS, prototype) as Parameters | undefined) ?? new Map();
}

/** Records that a class injects the service of a named connection. */
export function recordInjected(type: object, connectionName: string): void {
  Reflect.defineMetadata(INJECTED, [...injectedInto(type), connectionName], type);
}

/** Named connections whose service a class injects. */
export function injectedInto(type: object): readonly string[] {
  return (Reflect.getMetadata(INJECTED, type) as readonly string[] | undefined) ?? [];
}

/** Nest's parameter table: `@Body()`, `@Payload()`, `@Args()` and similar. It does not contain custom decorators. */
export function boundParameters(target: object, name: string | symbol): readonly BoundParameter[] {
  const table = Reflect.getMetadata(ROUTE_ARGS_METADATA, target.constructor, name) as
    Record<string, { index: number; data?: unknown }> | undefined;
  return Object.entries(table ?? {}).flatMap(([key, { index, data }]) => {
    const paramtype = /^(\d+):\d+$/.exec(key)?.[1];
    if (paramtype === undefined) return [];
    return [
      { paramtype: Number(paramtype), index, property: typeof data === 'string' && data !== '' ? data : undefined },
    ];
  });
}

/** Records an aspect. */
export function recordAspect(aspect: object): void {
  aspects.add(aspect);
}

/** Whether the value is an aspect, and not the mock of a test. */
export function isAspect(value: object): boolean {
  return aspects.has(value);
}

/** Whether the class has `@WebSocketGateway`. The metadata is copied, because the package is optional. */
export function isGateway(type: unknown): type is object {
  return typeof type === 'function' && Reflect.hasMetadata('websockets:is_gateway', type);
}
