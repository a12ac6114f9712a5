import { Module } from '@nestjs/common';
import { LockModule } from 'nestjs-distribute-lock';

import { Carrier } from './carrier.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [LockModule.forRoot({ connection: process.env.REDIS_URL })],
  providers: [OrdersService, Carrier],
})
export class AppModule {}
