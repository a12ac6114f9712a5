import { Body, Controller, Post } from '@nestjs/common';
import { ApiConflictResponse, ApiCreatedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentLease, DistributeLock, type Lease } from 'nestjs-distribute-lock';

import { WorkService } from '../work/work.service.js';
import { TransferDone, TransferDto } from './transfer.dto.js';

@ApiTags('transfers')
@Controller('transfers')
export class TransfersController {
  constructor(private readonly work: WorkService) {}

  @Post()
  @DistributeLock({ keys: ['account:#{body.from}', 'account:#{body.to}'], ttl: '10s', wait: '5s' })
  @ApiOperation({
    summary: 'Locks both accounts or none; transfers in opposite directions cause no deadlock',
  })
  @ApiCreatedResponse({ type: TransferDone })
  @ApiConflictResponse({ description: 'One of the accounts was in use for longer than the transfer waits' })
  async make(@Body() body: TransferDto, @CurrentLease() lease: Lease): Promise<TransferDone> {
    const done = await this.work.run(lease, body.workMs);
    return { ...done, fencingTokens: Object.fromEntries(lease.fencingTokens) };
  }
}
