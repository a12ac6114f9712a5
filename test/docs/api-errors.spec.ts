import {
  type CanActivate,
  Controller,
  Get,
  type INestApplication,
  Injectable,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import {
  DistributeLock,
  LockModule,
  type LockModuleOptions,
  type LockOptions,
  LockService,
} from 'nestjs-distribute-lock';
import { lastValueFrom } from 'rxjs';
import request from 'supertest';

import { onCleanup } from '../support/cleanup.js';
import { freePort } from '../support/free-port.js';
import { Envelope, errors, OrdersGateway, ReportsController } from './guide/api-errors.js';

@Injectable()
class NotSettling implements CanActivate {
  constructor(private readonly locks: LockService) {}

  canActivate(): Promise<boolean> {
    return this.locks.withLock('order', (lease) => lease.isHeld());
  }
}

@Controller()
class Orders {
  @Get('handler')
  @DistributeLock({ key: 'order' })
  async handler(): Promise<void> {}

  @Get('guard')
  @UseGuards(NotSettling)
  guard(): void {}

  @MessagePattern('settle')
  @DistributeLock({ key: 'order' })
  async settle(): Promise<string> {
    return 'settled';
  }
}

async function start(
  controllers: Type[],
  options: Partial<LockModuleOptions> = {},
  prepare: (app: INestApplication) => void = () => undefined,
  providers: object[] = [],
): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    imports: [LockModule.forRoot({ connection: 'memory', ...options })],
    controllers,
    providers: providers as never[],
  }).compile();
  const app = module.createNestApplication({ logger: false });
  prepare(app);
  await app.listen(0, '127.0.0.1');
  onCleanup(() => app.close());
  return app;
}

async function hold(app: INestApplication, key: string, options: LockOptions = {}): Promise<void> {
  const lease = await app.get(LockService).acquire(key, options);
  onCleanup(() => lease.release());
}

describe('The page about errors in an API', () => {
  it('shows an envelope by a filter, for handlers and guards', async () => {
    const app = await start([Orders], {}, (it) => void it.useGlobalFilters(new Envelope(it.get(HttpAdapterHost))));
    await hold(app, 'order');
    for (const place of ['handler', 'guard']) {
      const { status, body, headers } = await request(app.getHttpServer()).get(`/${place}`);
      const message = 'Another request is in progress; try again later.';
      expect([status, body]).toEqual([409, { error: { code: 'LOCK_CONTENDED', message } }]);
      expect(headers['retry-after']).toBeDefined();
    }
  });

  it('shows an envelope by the option "errors", for handlers and guards', async () => {
    const app = await start([Orders], { errors });
    await hold(app, 'order');
    for (const place of ['handler', 'guard']) {
      const { status, body, headers } = await request(app.getHttpServer()).get(`/${place}`);
      expect([status, body]).toEqual([409, { error: { code: 'LOCK_CONTENDED' } }]);
      expect(headers['retry-after']).toBeDefined();
    }
  });

  it('shows an option "errors" that leaves RPC as it is', async () => {
    const connection = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } } as const;
    const orders = await start([Orders], { errors }, (app) => {
      app.connectMicroservice<MicroserviceOptions>(connection, { inheritAppConfig: true });
    });
    await orders.startAllMicroservices();
    const client = ClientProxyFactory.create(connection);
    onCleanup(() => client.close());
    await hold(orders, 'order');
    await expect(lastValueFrom(client.send('settle', {}))).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
  });

  it('shows a limiter that responds with 503 and Retry-After', async () => {
    const app = await start([ReportsController]);
    await hold(app, 'renderer', { kind: 'semaphore', permits: 4, weight: 4 });
    await hold(app, 'exporter');
    for (const [route, message] of [
      ['render', 'Another request is in progress; try again later.'],
      ['export', 'All exporters are busy.'],
    ]) {
      const { status, body, headers } = await request(app.getHttpServer()).post(`/reports/${route}`);
      expect([status, body]).toEqual([503, expect.objectContaining({ message })]);
      expect(headers['retry-after']).toMatch(/^\d+$/);
    }
  });

  it('shows the header to browsers of another origin', async () => {
    const app = await start([Orders], {}, (it) => it.enableCors({ origin: true, exposedHeaders: ['Retry-After'] }));
    await hold(app, 'order');
    const { headers } = await request(app.getHttpServer()).get('/handler').set('Origin', 'https://shop.example');
    expect(headers['access-control-expose-headers']).toBe('Retry-After');
  });

  it('shows a gateway that responds with the status of the lock', async () => {
    const connection = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } } as const;
    const orders = await start([Orders], {}, (app) => void app.connectMicroservice<MicroserviceOptions>(connection));
    await orders.startAllMicroservices();
    const client = ClientProxyFactory.create(connection);
    const gateway = await start([OrdersGateway], {}, undefined, [{ provide: 'ORDERS', useValue: client }]);
    onCleanup(() => client.close());
    await hold(orders, 'order');
    const settle = async () => request(gateway.getHttpServer()).post('/orders/7/settle');
    const { status, body } = await settle();
    expect([status, body]).toEqual([
      409,
      expect.objectContaining({ statusCode: 409, code: 'LOCK_CONTENDED', retryAfterMs: expect.any(Number) as unknown }),
    ]);
    await orders.close();
    expect((await settle()).body).toEqual({ statusCode: 502, message: 'Bad Gateway' });
  });
});
