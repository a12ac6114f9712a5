import { randomUUID } from 'node:crypto';

import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
// A namespace, because a name that an older release lacks would end the import with an error of the loader.
import * as terminus from '@nestjs/terminus';

import { lockChannels, type LockStateMessage } from '../channels.js';
import { isLockError, LockConfigurationError } from '../errors.js';
import { LockEvents } from '../events.js';
import { LockConnections } from '../nest/aspect/lock-connections.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { LockService } from '../nest/lock.service.js';
import { LOCK_CONNECTIONS } from '../nest/tokens.js';
import { Recent } from './recent.js';

if (!('HealthIndicatorService' in terminus)) {
  throw new LockConfigurationError(
    '"nestjs-distribute-lock/terminus" needs @nestjs/terminus 11 or later. Update it, or write an indicator with LockService.',
  );
}

/** Limits of {@link LockHealthIndicator.isHealthy}; beyond them the indicator is down. @public */
export interface LockHealthOptions {
  /**
   * Lost connections to Redis. A quorum has one connection for each node, so it survives some.
   * @defaultValue no limit
   */
  readonly maxDisconnected?: number;
  /**
   * Leases lost in the last minute.
   * @defaultValue no limit
   */
  readonly maxLost?: number;
  /**
   * The largest lag of a renewal in the last minute, milliseconds. A third of the shortest `ttl` is a sensible limit.
   * @defaultValue no limit
   */
  readonly maxRenewalLagMs?: number;
  /**
   * The share of the limit `maxWaiters` that waits, from 0 to 1. At 1, further callers are refused.
   * @defaultValue `1`
   */
  readonly maxWaitingShare?: number;
}

/** The details of a check, with the result `up` or `down`. @public */
export interface LockHealthDetails {
  /** By connection: `up`, or the code of the error with which a lock could not be acquired. */
  readonly connections: Readonly<Record<string, string>>;
  /** Connections to Redis that are lost and not restored. */
  readonly disconnected: number;
  /** Callers of this process that wait, and how many may. */
  readonly waiting: number;
  readonly maxWaiters: number;
  /** Leases of this application that were lost in the last minute. */
  readonly lost: number;
  /** The largest lag of a renewal of this process in the last minute, milliseconds. */
  readonly renewalLagMs: number;
}

/**
 * Reports to `@nestjs/terminus` whether locks can be acquired on every connection, and what endangers them. Provide it beside
 * `TerminusModule` and `LockModule`.
 *
 * @example
 * ```ts
 * this.health.check([() => this.locks.isHealthy('locks', { maxLost: 10 })])
 * ```
 * @public
 */
@Injectable()
export class LockHealthIndicator implements OnModuleDestroy {
  /** A lock of this instance only, so no other caller holds it. */
  private readonly key = `health:${randomUUID()}`;
  private readonly lost = new Recent();
  private readonly lags = new Recent();
  private readonly disconnected = new Set<string>();
  private readonly stopListening: () => void;
  private readonly state = (message: unknown): void => {
    const { type, ...state } = message as LockStateMessage;
    if (type === 'renewed' && 'lagMs' in state) this.lags.add(state.lagMs);
  };

  /** @internal */
  constructor(
    @Inject(LOCK_CONNECTIONS) private readonly connections: LockConnections,
    @Inject(LockEvents) events: LockEvents,
    @Inject(terminus.HealthIndicatorService) private readonly health: HealthIndicatorService,
  ) {
    this.stopListening = events.listen(
      ({ type, name }) => {
        if (type === 'lost') this.lost.add(1);
        else if (type === 'disconnected') this.disconnected.add(name);
        else this.disconnected.delete(name);
      },
      'lost',
      'disconnected',
      'reconnected',
    );
    lockChannels.state.subscribe(this.state);
  }

  /** @internal */
  onModuleDestroy(): void {
    this.stopListening();
    lockChannels.state.unsubscribe(this.state);
  }

  /**
   * Acquires and releases a lock of this instance on every connection. It is down when that fails, or beyond a limit.
   * Answers within 1 s, also while Redis does not respond.
   */
  async isHealthy<Name extends string>(
    name: Name,
    limits: LockHealthOptions = {},
  ): Promise<HealthIndicatorResult<Name>> {
    const { maxDisconnected = Infinity, maxLost = Infinity, maxRenewalLagMs = Infinity, maxWaitingShare = 1 } = limits;
    const indicator = this.health.check(name);
    const engines = [...this.connections.engines];
    const states = await Promise.all(engines.map(async ([each, engine]) => [each, await this.probe(engine)] as const));
    const loads = engines.map(([, engine]) => engine.load);
    const details: LockHealthDetails = {
      connections: Object.fromEntries(states),
      disconnected: this.disconnected.size,
      waiting: sum(loads.map(({ waiting }) => waiting)),
      maxWaiters: sum(loads.map(({ most }) => most)),
      lost: this.lost.count,
      renewalLagMs: Math.round(this.lags.max),
    };
    const isDown =
      states.some(([, state]) => state !== 'up') ||
      details.disconnected > maxDisconnected ||
      loads.some(({ waiting, most }) => waiting >= most * maxWaitingShare) ||
      details.lost > maxLost ||
      details.renewalLagMs > maxRenewalLagMs;
    return isDown ? indicator.down({ ...details }) : indicator.up({ ...details });
  }

  private async probe(engine: LockEngine): Promise<string> {
    try {
      const options = { name: 'health', ttl: '1s', wait: '700ms' } as const;
      await new LockService(() => engine).withLock(this.key, options, () => undefined);
      return 'up';
    } catch (error) {
      if (isLockError(error)) return error.code;
      throw error;
    }
  }
}

const sum = (counts: readonly number[]): number => counts.reduce((total, each) => total + each, 0);
