import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { LockHealthIndicator } from 'nestjs-distribute-lock/terminus';

import { DemoSettings } from '../settings/demo-settings.js';

/** Response of `GET /health/live`. */
export class Health {
  @ApiProperty({ type: String, example: 'ok' })
  readonly status!: string;

  @ApiProperty({ type: String, example: 'A' })
  readonly instance!: string;

  @ApiProperty({ type: String, enum: ['redis', 'memory'] })
  readonly locks!: 'redis' | 'memory';
}

@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(
    private readonly settings: DemoSettings,
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  /** For a load balancer: 503 while no lock can be acquired. */
  @Get()
  @HealthCheck()
  async ready(): Promise<HealthCheckResult & Health> {
    return { ...(await this.health.check([() => this.locks.isHealthy('locks')])), ...this.live(), status: 'ok' };
  }

  /** Sends no command to Redis: an instance without Redis is alive, and a restart would not help. */
  @Get('live')
  @ApiOperation({ summary: 'Whether the instance is alive' })
  @ApiOkResponse({ type: Health })
  live(): Health {
    const { instance, inMemory } = this.settings;
    return { status: 'ok', instance, locks: inMemory ? 'memory' : 'redis' };
  }
}
