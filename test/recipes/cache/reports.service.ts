import { CACHE_MANAGER, type Cache } from '@nestjs/cache-manager';
import { Inject, Injectable } from '@nestjs/common';
import { lockKey, LockService } from 'nestjs-distribute-lock';

import { Database } from './database.js';

@Injectable()
export class ReportsService {
  constructor(
    @Inject(CACHE_MANAGER) private readonly cache: Cache,
    private readonly locks: LockService,
    private readonly database: Database,
  ) {}

  async report(month: string): Promise<string> {
    const cached = await this.cache.get<string>(`report:${month}`);
    return cached ?? this.locks.withLock(lockKey`report:${month}`, { wait: '30s' }, () => this.compute(month));
  }

  private async compute(month: string): Promise<string> {
    const meanwhile = await this.cache.get<string>(`report:${month}`); // another caller may have computed it
    if (meanwhile !== undefined) return meanwhile;
    const report = await this.database.sum(month); // seconds
    await this.cache.set(`report:${month}`, report, 60_000);
    return report;
  }
}
