import { setTimeout as delay } from 'node:timers/promises';

import { Controller, Get, Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  CurrentLease,
  DistributeLock,
  InjectLockService,
  type Lease,
  LockEvents,
  LockModule,
  LockService,
} from 'nestjs-distribute-lock';

import { onCleanup } from '../support/cleanup.js';

@Injectable()
class Audit {
  @DistributeLock({ key: 'audit:#{query.tenant}' })
  async write(@CurrentLease() lease?: Lease): Promise<string> {
    return lease!.key;
  }
}

@Controller()
class Reports {
  constructor(@InjectLockService() private readonly locks: LockService) {}

  /** Sets a timer that all leases of the process share. */
  @Get('report')
  async report(): Promise<void> {
    // Real time: only the timer matters, not whether the lease is lost.
    const brief = await this.locks.acquire('brief', { ttl: 300 });
    await delay(800);
    await brief.release();
  }
}

describe('an observer', () => {
  it('runs outside the request that caused the event', async () => {
    const imports = [LockModule.forRoot({ connection: 'memory' })];
    const module = await Test.createTestingModule({ imports, providers: [Audit], controllers: [Reports] }).compile();
    const app = module.createNestApplication({ logger: false });
    onCleanup(() => app.close());
    await app.listen(0, '127.0.0.1');
    let wrote: Promise<unknown> | undefined;
    const write = (): void => {
      wrote = app
        .get(Audit)
        .write()
        .catch(({ code }: { code: string }) => code);
    };
    app.get(LockEvents).listen(write, 'lost');
    await app.get(LockService).acquire('other', { ttl: 600, renew: false });
    await fetch(`${await app.getUrl()}/report?tenant=alice`);
    expect(await wrote).toBe('LOCK_KEY');
  });
});
