import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  type INestApplication,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributeLock, isLockError, LockError, LockModule, LockService } from 'nestjs-distribute-lock';
import request from 'supertest';

import { useRedis } from '../support/use-redis.js';

@Controller()
class Orders {
  @Get()
  @DistributeLock({ key: 'order' })
  async settle(): Promise<string> {
    return 'done';
  }
}

/** Responds to all errors of the application in one format, and inspects their causes. */
@Catch(HttpException)
class OneForm implements ExceptionFilter<HttpException> {
  catch(exception: HttpException, host: ArgumentsHost): void {
    const { cause } = exception;
    const response = host.switchToHttp().getResponse<{ status(code: number): { json(body: unknown): void } }>();
    const detail = isLockError(cause, 'LOCK_CONTENDED') ? `retry in ${cause.retryAfterMs > 0}` : 'unknown';
    response.status(exception.getStatus()).json({ problem: exception.message, detail });
  }
}

@Catch(LockError)
class Envelope implements ExceptionFilter<LockError> {
  catch({ code }: LockError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<{ status(code: number): { json(body: unknown): void } }>();
    response.status(423).json({ problem: code });
  }
}

describe('a filter for lock errors', () => {
  const redis = useRedis();

  it('gets them if the module option "errors" does not replace them', async () => {
    const errors = { default: (error: LockError) => error };
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix, errors })],
      controllers: [Orders],
    }).compile();
    const app = module.createNestApplication({ logger: false });
    app.useGlobalFilters(new Envelope());
    await app.listen(0, '127.0.0.1');
    const lease = await app.get(LockService).acquire('order');
    const { status, body } = await request(await app.getUrl()).get('/');
    expect([status, body]).toEqual([423, { problem: 'LOCK_CONTENDED' }]);
    await lease.release();
    await app.close();
  });
});

describe('a global exception filter', () => {
  const redis = useRedis();
  let app: INestApplication;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
      controllers: [Orders],
    }).compile();
    app = module.createNestApplication({ logger: false });
    app.useGlobalFilters(new OneForm());
    await app.listen(0, '127.0.0.1');
  });

  afterAll(() => app.close());

  it('gets the exception of the transport, with the lock error as its cause', async () => {
    const lease = await app.get(LockService).acquire('order');
    const response = await request(await app.getUrl()).get('/');
    expect(response.status).toBe(409);
    expect(response.headers['retry-after']).toBeDefined();
    expect(response.body).toEqual({
      problem: 'Another request is in progress; try again later.',
      detail: 'retry in true',
    });
    await lease.release();
  });
});
