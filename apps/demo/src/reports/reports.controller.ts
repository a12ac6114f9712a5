import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiConflictResponse, ApiCreatedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { lockKey, LockService } from 'nestjs-distribute-lock';

import { ParseIdPipe } from '../work/parse-id.pipe.js';
import { WorkDone } from '../work/work-done.js';
import { WorkDto } from '../work/work.dto.js';
import { WorkService } from '../work/work.service.js';

@ApiTags('reports')
@Controller('reports')
export class ReportsController {
  constructor(
    private readonly locks: LockService,
    private readonly work: WorkService,
  ) {}

  @Post(':id')
  @ApiOperation({ summary: 'Uses LockService; without a decorator a held lock still causes a 409' })
  @ApiCreatedResponse({ type: WorkDone })
  @ApiConflictResponse({ description: 'Another request creates this report' })
  async makeReport(@Param('id', ParseIdPipe) id: number, @Body() body: WorkDto): Promise<WorkDone> {
    return this.locks.withLock(lockKey`report:${id}`, { ttl: '10s' }, (lease) => this.work.run(lease, body.workMs));
  }
}
