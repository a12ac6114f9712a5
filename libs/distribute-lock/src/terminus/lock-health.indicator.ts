import { randomUUID } from 'node:crypto';

import { Inject, Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';

import { isLockError } from '../errors.js';
import { LockService } from '../nest/lock.service.js';

/**
 * Reports to `@nestjs/terminus` whether locks can be acquired.
 *
 * @example
 * ```ts
 * this.health.check([() => this.locks.isHealthy('locks')])
 * ```
 * @public
 */
@Injectable()
export class LockHealthIndicator {
  /** A lock of this instance only, so no other caller holds it. */
  private readonly key = `health:${randomUUID()}`;

  constructor(
    @Inject(LockService) private readonly locks: LockService,
    @Inject(HealthIndicatorService) private readonly health: HealthIndicatorService,
  ) {}

  /** Acquires and releases a lock of this instance. Answers within 2 s, also while Redis does not respond. */
  async isHealthy<Name extends string>(name: Name): Promise<HealthIndicatorResult<Name>> {
    const indicator = this.health.check(name);
    try {
      await this.locks.withLock(this.key, { ttl: '1s', wait: '1s' }, () => undefined);
      return indicator.up();
    } catch (error) {
      if (!isLockError(error)) throw error;
      return indicator.down({ code: error.code });
    }
  }
}
