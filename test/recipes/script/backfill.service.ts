import { setTimeout as delay } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';
import { DistributeLock } from 'nestjs-distribute-lock';

@Injectable()
export class BackfillService {
  @DistributeLock({ key: 'backfill', wait: '1m' }) // a second run of the script waits, then finds nothing to do
  async run(): Promise<void> {
    console.log('begun');
    await delay(200); // the work
    console.log('done');
  }
}
