import { Body, Controller, Post } from '@nestjs/common';
import { IsString, IsUUID } from 'class-validator';
import { DistributeLock } from 'nestjs-distribute-lock';

import { Orders } from './orders.js';

export class CheckoutDto {
  /** The client creates it when it opens the form, so all clicks send the same value. */
  @IsUUID()
  readonly requestId!: string;

  @IsString()
  readonly cart!: string;
}

@Controller('checkout')
export class CheckoutController {
  constructor(private readonly orders: Orders) {}

  @Post()
  @DistributeLock({ key: 'checkout:#{body.requestId}' })
  async checkout(@Body() { requestId, cart }: CheckoutDto): Promise<{ orderId: number }> {
    const placed = await this.orders.find(requestId);
    return placed ?? this.orders.place(requestId, cart);
  }
}
