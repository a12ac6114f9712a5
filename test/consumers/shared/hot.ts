/** An application for `nest start --watch`. The test changes `WORD` while a request holds the lock. */
import 'reflect-metadata';
import { Controller, Get, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

const WORD = 'before';
const HELD_MS = 6_000;

@Controller()
class Work {
  @Get()
  word(): string {
    return WORD;
  }

  @Post()
  @DistributeLock({ key: 'hot' })
  async hold(): Promise<void> {
    process.stdout.write('hot is held\n');
    await new Promise((resolve) => setTimeout(resolve, HELD_MS));
  }
}

@Module({
  imports: [LockModule.forRoot({ connection: process.env['REDIS_URL'], drainTimeout: '20s' })],
  controllers: [Work],
})
class HotModule {}

async function start(): Promise<void> {
  const app = await NestFactory.create(HotModule, { logger: ['error', 'warn', 'log'] });
  app.enableShutdownHooks();
  await app.listen(Number(process.env['PORT']), '127.0.0.1');
}

void start();
