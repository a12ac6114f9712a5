import { Injectable, Module } from '@nestjs/common';
import { currentLease, DistributeLock, duration, lockKey, LockModule } from 'nestjs-distribute-lock';

/** Replaces the `ConfigService` of `@nestjs/config`. */
@Injectable()
export class ConfigService {
  private readonly values: Readonly<Record<string, string>> = { REPORT_TTL: '40s' };

  getOrThrow(name: string): string {
    const value = this.values[name];
    if (value === undefined) throw new Error(`${name} is missing`);
    return value;
  }
}

// #region instance
@Injectable()
export class Reports {
  readonly tenant = 'eu';

  constructor(readonly config: ConfigService) {}

  @DistributeLock({
    key(this: Reports, day: string) {
      return lockKey`report:${this.tenant}:${day}`;
    },
    options: ({ config }: Reports) => ({ ttl: duration(config.getOrThrow('REPORT_TTL')) }),
  })
  async write(_day: string) {
    return currentLease();
  }
}
// #endregion

@Injectable()
export class Orders {
  // #region use
  @DistributeLock({ preset: 'checkout', key: 'checkout:#{arg0}' })
  async checkout(_customer: string) {
    return currentLease();
  }
  // #endregion
}

// #region presets
@Module({
  imports: [
    LockModule.forRoot({
      connection: process.env.REDIS_URL ?? 'memory',
      presets: { checkout: { ttl: '10s', wait: '2s' } },
    }),
  ],
})
export class AppModule {}
// #endregion
