import { Inject, Injectable, Logger, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import { registerLock } from '../../channels.js';
import { LockConfigurationError } from '../../errors.js';
import { ASPECT, LOCK_CONNECTIONS } from '../tokens.js';
import { type CronOptions, CronTicks } from './cron-ticks.js';
import { LockConnections } from './lock-connections.js';
import { injectedInto, isGateway, leaseParametersOf, locksOf } from './lock-metadata.js';
import { LockInterceptor } from './lock.interceptor.js';
import { isLockedMethod } from './locked-method.js';
import type { LockSpec } from './lock-spec.js';
import { RouteCheck } from './route-check.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

const logger = new Logger('DistributeLock');

/** Metadata of `@Cron`, `@Interval` and `@Timeout`. The values are copied, because `@nestjs/schedule` is optional. */
const SCHEDULER_TYPE = 'SCHEDULER_TYPE';
const CRON = 1;
const CRON_OPTIONS = 'SCHEDULE_CRON_OPTIONS';

/** Checks all locks of the application at start-up, so that invalid ones prevent the start. */
@Injectable()
export class LockExplorer {
  private readonly seen = new Set<object>();
  /** Classes of providers, and the classes that these extend. */
  private readonly links = new Set<object>();

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(LOCK_CONNECTIONS) private readonly connections: LockConnections,
    @Inject(LockInterceptor) private readonly aspect: LockInterceptor,
    @Inject(RouteCheck) private readonly routes: RouteCheck,
  ) {}

  /** @throws LockConfigurationError naming class and method, when a lock cannot work in this application */
  explore(): void {
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const prototype = prototypeOf(wrapper);
      if (prototype === undefined) continue;
      const chain = [...prototypeChain(prototype)];
      if (!this.seen.has(prototype)) {
        this.seen.add(prototype);
        for (const link of chain) this.prepare(link);
        for (const link of chain) this.findJobs(link);
        checkLeaseParameters(chain);
        // Without a constructor function, for example on a plain object, nothing is injected.
        const type: unknown = prototype.constructor;
        if (typeof type === 'function') for (const name of injectedInto(type)) this.connections.engine(name);
        warnOfOverrides(chain);
        for (const link of chain) this.warnOfWrapped(link);
        if (isGateway(prototype.constructor)) for (const link of chain) warnOfHooks(link);
      }
      if (chain.some((link) => locksOf(link).size > 0)) this.injectAspect(wrapper);
    }
    for (const { metatype, host } of this.discovery.getControllers()) {
      if (typeof metatype === 'function') this.routes.check(metatype as Type, host?.metatype);
    }
  }

  /**
   * Calls the functions that compute options from an instance, for all singletons.
   * @throws LockConfigurationError naming the method, when their options are wrong
   */
  checkInstances(): void {
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      // Nest keeps a placeholder for transient classes, which no constructor has run on.
      if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) continue;
      const instance = wrapper.instance as object | null;
      const prototype = prototypeOf(wrapper);
      if (prototype === undefined || instance === null) continue;
      for (const link of prototypeChain(prototype)) {
        for (const spec of [...locksOf(link).values()].flat()) {
          const { instanceOptions } = spec;
          // A function of the arguments needs a call.
          if (instanceOptions !== undefined && instanceOptions.length < 2) this.connections.prepare(spec, instance);
        }
      }
    }
  }

  private prepare(prototype: object): void {
    for (const spec of [...locksOf(prototype).values()].flat()) {
      const { options } = this.connections.prepare(spec);
      registerLock(spec.name, options.kind);
    }
  }

  private findJobs(prototype: object): void {
    for (const [name, specs] of locksOf(prototype)) {
      const { value }: PropertyDescriptor = Object.getOwnPropertyDescriptor(prototype, name)!;
      const type: unknown = Reflect.getMetadata(SCHEDULER_TYPE, value as object);
      const once = specs.filter((spec) => spec.once !== undefined);
      if (once.length > 0) this.prepareOnce(once[0], specs, value as object, type === CRON);
      if (type === undefined) continue;
      for (const spec of specs) this.connections.jobs.add(spec);
      if (type === CRON && once.length === 0) this.warnOfCron(`${prototype.constructor.name}.${String(name)}`, specs);
    }
  }

  /** @throws LockConfigurationError when the scheduler does not call the lock with `once` itself */
  private prepareOnce(spec: LockSpec, specs: readonly LockSpec[], value: object, isCron: boolean): void {
    const { method } = spec;
    const fault = !isCron
      ? 'a method without @Cron has no ticks that all instances share. Use LockService.onceAt() for jobs of other schedulers, and "minHold" for @Interval.'
      : spec !== specs.at(-1) || !isLockedMethod(value)
        ? 'the scheduler calls another decorator first. Put this @DistributeLock above all decorators that wrap the method.'
        : undefined;
    if (fault !== undefined) throw new LockConfigurationError(`@DistributeLock on ${method} has "once", but ${fault}`);
    const cron = Reflect.getMetadata(CRON_OPTIONS, value) as CronOptions;
    this.connections.ticks.set(spec, new CronTicks(method, cron, this.discovery));
    if (cron.timeZone !== undefined || cron.utcOffset !== undefined || typeof cron.cronTime !== 'string') return;
    logger.warn(
      `${method} runs once per tick, but its @Cron has no "timeZone": hosts in other time zones have other ticks. Set it, for example to 'UTC'.`,
    );
  }

  /** The work of a decorator that wraps the locked method, such as a commit, ends after the release. Warns once per class. */
  private warnOfWrapped(prototype: object): void {
    if (this.links.has(prototype)) return;
    this.links.add(prototype);
    for (const name of locksOf(prototype).keys()) {
      const { value }: PropertyDescriptor = Object.getOwnPropertyDescriptor(prototype, name)!;
      if (isLockedMethod(value)) continue;
      logger.warn(
        `Another decorator wraps ${prototype.constructor.name}.${String(name)} above @DistributeLock, so the lock is released before that ` +
          'decorator has ended its work, such as the commit of @Transactional. Put @DistributeLock above it.',
      );
    }
  }

  /** Instances run a job at slightly different times: without `once` or `minHold` a short job runs once in each of them. */
  private warnOfCron(method: string, specs: readonly LockSpec[]): void {
    if (specs.some(({ instanceOptions }) => instanceOptions !== undefined)) return;
    const all = specs.map((spec) => this.connections.prepare(spec).options);
    if (all.some(({ minHoldMs, release }) => minHoldMs > 0 || release === 'expire')) return;
    logger.warn(
      `${method} is a @Cron method without "once": an instance whose clock is late runs the job again. Set once: 'tick', or ` +
        '"minHold" to more than the difference of the clocks and less than the interval of the job.',
    );
  }

  /** Injects the aspect into instances from factories and values. Nest itself injects into the classes that it constructs. */
  private injectAspect(wrapper: Wrapper): void {
    if (!wrapper.isNotMetatype || !wrapper.isDependencyTreeStatic()) return;
    const instance = wrapper.instance as object;
    // Nest's injection is enumerable. A property that is not enumerable is from an earlier application, which may have ended.
    if (!Object.isExtensible(instance) || Object.prototype.propertyIsEnumerable.call(instance, ASPECT)) return;
    Object.defineProperty(instance, ASPECT, {
      value: this.aspect,
      configurable: true,
      writable: true,
    });
  }
}

function prototypeOf({ instance, metatype, isNotMetatype }: Wrapper): object | undefined {
  if (!isNotMetatype && typeof metatype === 'function') return metatype.prototype as object | undefined;
  const value: unknown = instance;
  return typeof value === 'object' && value !== null
    ? ((Object.getPrototypeOf(value) as object | null) ?? undefined)
    : undefined;
}

function* prototypeChain(start: object): Generator<object> {
  let link: object | null = start;
  while (link !== null && link !== Object.prototype) {
    yield link;
    link = Object.getPrototypeOf(link) as object | null;
  }
}

/** Skips methods that a subclass overrides: the parameters of the base class do not matter for them. */
function checkLeaseParameters(chain: readonly object[]): void {
  chain.forEach((link, depth) => {
    for (const name of leaseParametersOf(link).keys()) {
      if (locksOf(link).has(name) || chain.slice(0, depth).some((below) => Object.hasOwn(below, name))) continue;
      throw new LockConfigurationError(
        `@CurrentLease() is used in ${link.constructor.name}.${String(name)}, which has no @DistributeLock.`,
      );
    }
  });
}

/** A method that overrides a locked method is not locked. */
function warnOfOverrides(chain: readonly object[]): void {
  chain.forEach((link, depth) => {
    for (const name of locksOf(link).keys()) {
      const nearest = chain.slice(0, depth).find((below) => Object.hasOwn(below, name));
      if (nearest === undefined || locksOf(nearest).has(name)) continue;
      logger.warn(
        `${nearest.constructor.name}.${String(name)} overrides a method with @DistributeLock and is not locked itself; ` +
          'add the decorator to it, or call super.',
      );
    }
  });
}

/** Nest ignores the promises of these hooks of a gateway. */
function warnOfHooks(prototype: object): void {
  for (const hook of ['afterInit', 'handleConnection', 'handleDisconnect']) {
    if (
      !locksOf(prototype)
        .get(hook)
        ?.some(({ onContended }) => onContended === 'throw')
    )
      continue;
    logger.warn(
      `${prototype.constructor.name}.${hook} is locked, but Nest catches no error of this hook: a refused call ends the process. ` +
        'Set "onContended" to "skip" or a function, or use LockService in a try block.',
    );
  }
}
