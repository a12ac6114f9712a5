import { Injectable } from '@nestjs/common';
import { DistributeLock, type LockContentionInfo, LockService } from 'nestjs-distribute-lock';

@Injectable()
export class ReportsService {
  constructor(private readonly locks: LockService) {}

  // #region wait
  @DistributeLock({ key: 'report:#{arg0}', wait: '5s' })
  async build(name: string) {
    return `built ${name}`;
  }
  // #endregion

  // #region try
  async buildUnlessBusy(name: string) {
    await using lease = await this.locks.tryAcquire(`report:${name}`);
    return lease === null ? 'busy' : `built ${name}`;
  }
  // #endregion

  // #region signal
  async buildWithin(name: string, signal: AbortSignal) {
    return this.locks.withLock(`report:${name}`, { wait: '10m', signal }, () => `built ${name}`);
  }
  // #endregion

  // #region answer
  @DistributeLock({
    key: 'report:#{arg0}',
    onContended: ({ retryAfterMs }: LockContentionInfo, name: string) => `${name}: try again in ${retryAfterMs} ms`,
  })
  async buildOrTell(name: string) {
    return `built ${name}`;
  }
  // #endregion
}
