import { randomUUID } from 'node:crypto';

import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { isLockError, LockService } from 'nestjs-distribute-lock';

@Injectable()
export class LockHealthIndicator {
  /** A lock of this instance only, so no other caller holds it. */
  private readonly key = `health:${randomUUID()}`;

  constructor(
    private readonly locks: LockService,
    private readonly health: HealthIndicatorService,
  ) {}

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
