import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';

import { DemoSettings } from '../settings/demo-settings.js';

/** Response of `GET /health`. */
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
  constructor(private readonly settings: DemoSettings) {}

  /** Sends no command to Redis: an instance without Redis is alive, and a restart would not help. */
  @Get()
  @ApiOperation({ summary: 'Whether the instance is alive' })
  @ApiOkResponse({ type: Health })
  health(): Health {
    const { instance, inMemory } = this.settings;
    return { status: 'ok', instance, locks: inMemory ? 'memory' : 'redis' };
  }
}
