import { BadRequestException, Body, Controller, GoneException, Post } from '@nestjs/common';
import { IsString } from 'class-validator';
import { CurrentLease, DistributeLock, isLockError, type Lease, LockService } from 'nestjs-distribute-lock';

import { Orders } from './orders.js';

export class TicketDto {
  @IsString()
  readonly ticket!: string;
}

// #region controller
@Controller('seats')
export class SeatsController {
  constructor(
    private readonly locks: LockService,
    private readonly orders: Orders,
  ) {}

  @Post(':seat/reserve')
  @DistributeLock({ key: 'seat:#{params.seat}' }) // 409 while another customer has the seat
  async reserve(@CurrentLease() lease: Lease) {
    await this.orders.checkUnsold(lease.key);
    return { ticket: await lease.detach({ ttl: '10m' }) };
  }

  @Post('confirm')
  async confirm(@Body() { ticket }: TicketDto) {
    await using lease = await this.locks.attach(ticket).catch(refuse);
    return await this.orders.pay(lease.key, lease.fencingToken);
  }

  @Post('cancel')
  async cancel(@Body() { ticket }: TicketDto) {
    return { cancelled: await this.locks.cancel(ticket).catch(refuse) };
  }
}

function refuse(error: unknown): never {
  if (isLockError(error, 'LEASE_LOST')) throw new GoneException({ code: 'RESERVATION_OVER', reason: error.reason });
  if (isLockError(error, 'LOCK_USAGE')) throw new BadRequestException('This is not a ticket.');
  throw error;
}
// #endregion
