import { Injectable } from '@nestjs/common';
import { DistributeLock } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

@Injectable()
export class Migrations {
  constructor(private readonly database: DataSource) {}

  /** One instance migrates. The others wait for it, and then find nothing to do. */
  @DistributeLock({ key: 'migrate', wait: '10m', onLost: 'throw' })
  async run(): Promise<void> {
    await this.database.runMigrations({ transaction: 'each' });
  }
}
