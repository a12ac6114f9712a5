/** An application whose locked request ends when its standard input has data. Prints its process and its address. */
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
    await new Promise((resolve) => process.stdin.once('data', resolve));
  }
}

@Module({ imports: [LockModule.forRoot({ connection: 'memory', drainTimeout: '1m' })], controllers: [Work] })
class App {}

process.stdin.once('end', () => process.exit());
const app = await NestFactory.create(App, { logger: false });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
process.stdout.write(`process ${process.pid} at ${await app.getUrl()} listens\n`);
