import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { LockDashboard } from 'nestjs-distribute-lock/dashboard';

import { WorkDto } from '../work/work.dto.js';
import { WorkService } from '../work/work.service.js';

@ApiTags('unlocked')
@Controller('unlocked')
export class UnlockedController {
  constructor(
    private readonly work: WorkService,
    private readonly dashboard: LockDashboard,
  ) {}

  @Post()
  @HttpCode(204)
  @ApiOperation({ summary: 'The same work without a lock: on the page, its bars overlap' })
  @ApiNoContentResponse()
  async run(@Body() body: WorkDto): Promise<void> {
    await this.dashboard.showUnlocked('UnlockedController.run', () => this.work.runUnlocked(body.workMs));
  }
}
