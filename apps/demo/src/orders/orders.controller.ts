import { Body, Controller, Param, Post } from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiOperation,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';

import { ParseIdPipe } from '../work/parse-id.pipe.js';
import { WorkDone } from '../work/work-done.js';
import { OrdersService } from './orders.service.js';
import { SettleOrderDto } from './settle-order.dto.js';

@ApiTags('orders')
@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post(':id/settle')
  @ApiOperation({ summary: 'Calls a locked service method; this handler itself has no lock' })
  @ApiCreatedResponse({ type: WorkDone })
  @ApiConflictResponse({ description: 'Another request settles this order' })
  @ApiUnprocessableEntityResponse({ description: 'The payment was declined; the lock is free again' })
  async settle(@Param('id', ParseIdPipe) id: number, @Body() body: SettleOrderDto): Promise<WorkDone> {
    return this.orders.settle(id, body);
  }
}
