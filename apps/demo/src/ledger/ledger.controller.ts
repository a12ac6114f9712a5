import { Body, Controller, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiOperation, ApiPreconditionFailedResponse, ApiTags } from '@nestjs/swagger';

import { FencedWriteDone, FencedWriteDto } from './ledger.dto.js';
import { LedgerService } from './ledger.service.js';

@ApiTags('fenced-write')
@Controller('fenced-write')
export class LedgerController {
  constructor(private readonly ledger: LedgerService) {}

  @Post()
  @ApiOperation({ summary: 'Writes with a fencing token; with staleToken the write is too late and is refused' })
  @ApiCreatedResponse({ type: FencedWriteDone })
  @ApiPreconditionFailedResponse({ description: 'The fencing token is smaller than one that was accepted before' })
  async write(@Body() { amount, staleToken }: FencedWriteDto): Promise<FencedWriteDone> {
    return staleToken ? this.ledger.writeAfterPause(amount) : this.ledger.write(amount);
  }
}
