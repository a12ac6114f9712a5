/** A user application of the packed library; packed-library.spec.ts compiles and runs it. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributeLock, isLockError, LockModule, LockService } from 'nestjs-distribute-lock';

@Injectable()
class Invoices {
  running = 0;

  @DistributeLock({ key: 'invoice:#{arg0}', ttl: '5s' })
  async settle(id: number): Promise<string> {
    this.running += 1;
    await new Promise((resolve) => setImmediate(resolve));
    this.running -= 1;
    return `settled ${id}`;
  }
}

@Module({ imports: [LockModule.forRoot({ connection: 'memory' })], providers: [Invoices] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const invoices = app.get(Invoices);
const settled = await Promise.allSettled([invoices.settle(42), invoices.settle(42), invoices.settle(43)]);
const answers = settled.map((one) => (one.status === 'fulfilled' ? one.value : codeOf(one.reason)));
const token = await app.get(LockService).withLock('report', async (lease) => lease.fencingToken > 0);
await app.close();
console.log(JSON.stringify({ answers, token }));

function codeOf(error: unknown): string {
  return isLockError(error) ? error.code : String(error);
}
