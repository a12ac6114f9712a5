/** An application whose locked request ends at the signal SIGUSR2. Prints its process and its address. Ends after a minute at the latest. */
import 'reflect-metadata';
import { Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

@Controller()
class Work {
  @Post()
  @DistributeLock({ key: 'work' })
  async work(): Promise<void> {
    process.stdout.write('held\n');
    await new Promise((resolve) => process.once('SIGUSR2', resolve));
  }
}

@Module({ imports: [LockModule.forRoot({ connection: 'memory', drainTimeout: '1m' })], controllers: [Work] })
class App {}

setTimeout(() => process.exit(), 60_000).unref();
const app = await NestFactory.create(App, { logger: false });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
process.stdout.write(`process ${process.pid} at ${await app.getUrl()} listens\n`);
