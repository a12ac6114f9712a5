import { Injectable } from '@nestjs/common';
import { DistributeLock, LockService } from 'nestjs-distribute-lock';

import { GeocodingApi } from './geocoding-api.js';

@Injectable()
export class Geocoder {
  constructor(
    private readonly api: GeocodingApi,
    private readonly locks: LockService,
  ) {}

  /** At most 10 starts in any second, in all processes together. */
  @DistributeLock({ key: 'geocoder', kind: 'semaphore', permits: 10, minHold: '1s', wait: '1m' })
  async find(address: string): Promise<string> {
    return this.api.find(address);
  }

  /** At most 3 calls at a time, and at most 10 starts in any second. */
  @DistributeLock({ key: 'geocoder:calls', kind: 'semaphore', permits: 3, wait: '1m' })
  async findSlowly(address: string): Promise<string> {
    const start = { kind: 'semaphore', permits: 10, minHold: '1s', wait: '1m' } as const;
    await this.locks.withLock('geocoder:starts', start, () => undefined); // the permit stays in use for a second
    return this.api.find(address);
  }
}
