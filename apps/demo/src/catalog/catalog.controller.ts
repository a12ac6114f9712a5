import { Body, Controller, Get, Param, Put, Query } from '@nestjs/common';
import { ApiConflictResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentLease, DistributeLock, type Lease } from 'nestjs-distribute-lock';

import { ParseIdPipe } from '../work/parse-id.pipe.js';
import { WorkDone } from '../work/work-done.js';
import { WorkDto, WorkQuery } from '../work/work.dto.js';
import { WorkService } from '../work/work.service.js';

@ApiTags('catalog')
@Controller('catalog')
export class CatalogController {
  constructor(private readonly work: WorkService) {}

  @Get(':id')
  @DistributeLock({ key: 'catalog:#{params.id}', kind: 'read', ttl: '10s', wait: '5s' })
  @ApiOperation({ summary: 'Any number of readers at once, on all instances; they wait for a writer' })
  @ApiOkResponse({ type: WorkDone })
  @ApiConflictResponse({ description: 'A writer held the lock for longer than the reader waits' })
  async read(
    @Param('id', ParseIdPipe) _id: number,
    @CurrentLease() lease: Lease,
    @Query() query: WorkQuery,
  ): Promise<WorkDone> {
    return this.work.run(lease, query.workMs);
  }

  @Put(':id')
  @DistributeLock({ key: 'catalog:#{params.id}', kind: 'write', ttl: '10s', wait: '5s' })
  @ApiOperation({ summary: 'One writer alone; later readers wait behind it' })
  @ApiOkResponse({ type: WorkDone })
  @ApiConflictResponse({ description: 'Other callers held the lock for longer than the writer waits' })
  async write(
    @Param('id', ParseIdPipe) _id: number,
    @Body() body: WorkDto,
    @CurrentLease() lease: Lease,
  ): Promise<WorkDone> {
    return this.work.run(lease, body.workMs);
  }
}
