import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule } from 'nestjs-distribute-lock';

import { OrdersService } from './orders.service.js';

@Module({
  imports: [LockModule.forRoot({ connection: process.env.REDIS_URL, defaults: { ttl: '15s' } })],
  providers: [OrdersService],
})
class FunctionModule {}

let starting: Promise<INestApplicationContext> | undefined;

/** One application for all calls of this instance of the function. A failed start is repeated by the next call. */
function application(): Promise<INestApplicationContext> {
  return (starting ??= NestFactory.createApplicationContext(FunctionModule, { abortOnError: false }).catch((error) => {
    starting = undefined;
    throw error;
  }));
}

export async function handler({ orderId }: { readonly orderId: string }): Promise<string> {
  const app = await application();
  return app.get(OrdersService).settle(orderId);
}
