import type { INestApplication } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { LockModule } from 'nestjs-distribute-lock';
import { LockHealthIndicator } from 'nestjs-distribute-lock/terminus';
import request from 'supertest';

import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { HealthController } from './health/health.controller.js';

describe('recipe: health check', () => {
  let redis: RedisServer;
  let app: INestApplication;

  beforeAll(async () => {
    redis = await startRedisServer();
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: redis.url }), TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController],
      providers: [LockHealthIndicator],
    }).compile();
    app = module.createNestApplication();
    app.useLogger(false);
    await app.listen(0, '127.0.0.1');
  });

  afterAll(() => app.close());

  const ready = () => request(app.getHttpServer()).get('/health/ready');

  it('is up while Redis grants locks, also for concurrent checks, and leaves no key behind', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => ready()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers[0]?.body).toMatchObject({
      status: 'ok',
      info: { locks: { status: 'up', connections: { default: 'up' } } },
    });
  });

  it('is down soon while Redis grants no locks', async () => {
    await redis.stop();
    const since = performance.now();
    const { status, body } = await ready();
    expect(performance.now() - since).toBeLessThan(10_000);
    expect([status, body]).toMatchObject([
      503,
      { error: { locks: { status: 'down', connections: { default: 'LOCK_UNAVAILABLE' } } } },
    ]);
  });

  it('is up again when Redis is', async () => {
    await redis.start();
    for (let answer = await ready(); answer.status !== 200;) answer = await ready();
  });
});
