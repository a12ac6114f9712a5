/** An application over TCP; prints the responses to its client while the lock was free, and while it was held. */
import 'reflect-metadata';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, Transport } from '@nestjs/microservices';
import { DistributeLock, LockModule, LockService } from 'nestjs-distribute-lock';
import { lastValueFrom } from 'rxjs';

class Orders {
  async settle() {
    return 'settled';
  }
}
const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'settle');
DistributeLock({ key: 'order' })(Orders.prototype, 'settle', descriptor);
MessagePattern('settle')(Orders.prototype, 'settle', descriptor);
Object.defineProperty(Orders.prototype, 'settle', descriptor);
Controller()(Orders);

class AppModule {}
Module({ imports: [LockModule.forRoot({ connection: 'memory' })], controllers: [Orders] })(AppModule);

const transport = Transport.TCP;
const app = await NestFactory.createMicroservice(AppModule, {
  transport,
  options: { host: '127.0.0.1', port: 0 },
  logger: false,
});
await app.listen();
const { port } = app.unwrap().address();
const client = ClientProxyFactory.create({ transport, options: { host: '127.0.0.1', port } });
const ask = () => lastValueFrom(client.send('settle', {})).catch((error) => error);
const free = await ask();
const lease = await app.get(LockService).acquire('order');
const busy = await ask();
await lease.release();
await client.close();
await app.close();
console.log(JSON.stringify({ free, busy }));
