import { Database } from './database.js';
import { PaymentDto } from './payment.dto.js';
// #region controller
import { Body, Controller, Post } from '@nestjs/common';
import { CurrentLease, DistributeLock, type Lease } from 'nestjs-distribute-lock';

@Controller('payments')
export class PaymentsController {
  constructor(private readonly database: Database) {}

  @Post()
  @DistributeLock({ key: 'payment:#{body.orderId}', ttl: '30s' })
  async pay(@Body() body: PaymentDto, @CurrentLease() lease?: Lease) {
    return this.database.charge(body.orderId, lease?.fencingToken);
  }
}
// #endregion
