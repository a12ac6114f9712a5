import { Body, Controller, Post } from '@nestjs/common';
import { ApiConflictResponse, ApiCreatedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentLease, DistributeLock, type Lease } from 'nestjs-distribute-lock';

import { WorkDone } from '../work/work-done.js';
import { WorkDto } from '../work/work.dto.js';
import { WorkService } from '../work/work.service.js';

@ApiTags('exports')
@Controller('exports')
export class ExportsController {
  constructor(private readonly work: WorkService) {}

  @Post()
  @DistributeLock({ key: 'exports', kind: 'semaphore', permits: 2, ttl: '10s' })
  @ApiOperation({ summary: 'At most two exports at a time, on all instances together' })
  @ApiCreatedResponse({ type: WorkDone })
  @ApiConflictResponse({ description: 'Two exports are running' })
  async make(@Body() body: WorkDto, @CurrentLease() lease: Lease): Promise<WorkDone> {
    return this.work.run(lease, body.workMs);
  }
}
