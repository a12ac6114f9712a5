import { CacheModule } from '@nestjs/cache-manager';
import { type INestApplication, ValidationPipe } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { LockModule } from 'nestjs-distribute-lock';
import type { DataSource } from 'typeorm';

import { RecordingStore } from '../support/recording-store.js';
import { transactions } from '../support/database.js';
import { DomainFilter } from './around.js';
import type { Combination } from './combinations.js';
import { controllerOf } from './mixed.controller.js';

/** The observable behaviour of an application. */
export interface Observation {
  readonly document: unknown;
  readonly answers: readonly unknown[];
  readonly statements: readonly string[];
  /** Keys of the acquired locks. */
  readonly locks: readonly string[];
}

/** Starts an application whose handlers have these decorators, and sends requests that involve each of them. */
export async function observe(
  names: Combination,
  database: DataSource,
  log: { statements: string[] },
): Promise<Observation> {
  const store = new RecordingStore();
  const app = await start(names, database, store);
  log.statements = [];
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  const answers = await askAll(await app.getUrl());
  await app.close();
  const locks = store.commands
    .filter((line) => line.startsWith('acquire'))
    .map((line) => line.slice('acquire '.length));
  return { document, answers, statements: log.statements, locks };
}

async function start(names: Combination, database: DataSource, store: RecordingStore): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    imports: [
      LockModule.forRoot({ connection: store }),
      ThrottlerModule.forRoot([{ limit: 1000, ttl: 60_000 }]),
      CacheModule.register(),
      ...transactions(database),
    ],
    controllers: [controllerOf(names)],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  }).compile();
  const app = module.createNestApplication({ logger: false });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true }));
  app.useGlobalFilters(new DomainFilter());
  await app.listen(0, '127.0.0.1');
  return app;
}

async function askAll(url: string): Promise<unknown[]> {
  const answers: unknown[] = [];
  const ask = async (path: string, role: string, body?: object): Promise<void> => {
    const headers = { 'x-role': role, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${url}/orders/${path}`, { ...sent, headers });
    answers.push([response.status, response.headers.get('x-ratelimit-limit'), await response.text()]);
  };
  const order = { channel: 'web', dropped: 'by the pipe' };
  await ask('7', 'clerk', order);
  await ask('7', 'guest', order); // 403
  await ask('7', 'clerk', {}); // 400
  await ask('seven', 'clerk', order); // 400
  await ask('13', 'clerk', order); // 418, rolled back
  await ask('7', 'clerk', order); // 429
  await ask('7', 'clerk');
  await ask('7', 'clerk'); // from the cache
  await ask('8', 'guest'); // 403
  return answers;
}
