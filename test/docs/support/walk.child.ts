import 'reflect-metadata';
import { Session } from 'node:inspector/promises';

import { Controller, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

import { DistributeLock } from '../../../libs/distribute-lock/src/nest/decorators/distribute-lock.decorator.js';
import { LockModule } from '../../../libs/distribute-lock/src/nest/module/lock.module.js';
import { parentProcess } from '../../support/parent-process.js';
import type { Messages } from '../../support/second-process.js';

/** Reports the source files of the library that one warm request executes. */
const parent = parentProcess<Messages, { executed: string[] }>();
const SOURCES = '/libs/distribute-lock/src/';

@Controller()
class Orders {
  @Post('orders/:id')
  @DistributeLock({ key: 'order:#{params.id}', wait: '5s' })
  async ship(@Param('id') id: string): Promise<string> {
    return `done: ${id}`;
  }
}

@Module({ imports: [LockModule.forRoot({ connection: process.env['LOCK_URL']! })], controllers: [Orders] })
class Application {}

const application = await NestFactory.create(Application, { logger: false });
await application.listen(0, '127.0.0.1');
const url = await application.getUrl();

async function request(): Promise<void> {
  const response = await fetch(`${url}/orders/7`, { method: 'POST' });
  if ((await response.text()) !== 'done: 7') throw new Error(`status ${response.status}`);
}

for (let i = 0; i < 20; i += 1) await request();
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The files that ran since the call before. */
async function executedSince(): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const executed = result
    .filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
    .flatMap(({ url: file }) => file.split(SOURCES)[1] ?? []);
  return [...new Set(executed)].toSorted();
}

// On a busy machine, timers of the library may run during a request. The request with the fewest files has the least other work.
let fewest: string[] | undefined;
for (let i = 0; i < 5; i += 1) {
  await executedSince();
  await request();
  const executed = await executedSince();
  if (fewest === undefined || executed.length < fewest.length) fewest = executed;
}
parent.send('executed', fewest!);
await application.close();
