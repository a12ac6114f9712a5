import { Body, Controller, type INestApplication, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiCreatedResponse, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { DistributeLock, LockModule, LockService } from 'nestjs-distribute-lock';
import { ApiLockResponses } from 'nestjs-distribute-lock/swagger';
import request from 'supertest';

interface Payment {
  readonly id: string;
}

@Controller('payments')
class Payments {
  @Post('above')
  @ApiCreatedResponse()
  @ApiLockResponses()
  @DistributeLock({ key: 'payment:#{body.id}' })
  async above(@Body() _payment: Payment): Promise<void> {}

  @Post('below')
  @DistributeLock({ key: 'payment:#{body.id}', contendedStatus: 423 })
  @ApiLockResponses({ contendedStatus: 423 })
  async below(@Body() _payment: Payment): Promise<void> {}
}

@Controller('stock')
@ApiLockResponses()
class Stock {
  @Post()
  @DistributeLock({ key: 'stock' })
  async take(): Promise<void> {}
}

@Module({ imports: [LockModule.forRoot({ connection: 'memory' })], controllers: [Payments, Stock] })
class App {}

describe('@ApiLockResponses', () => {
  let app: INestApplication;

  beforeAll(async () => {
    app = await NestFactory.create(App, { logger: false });
    await app.init();
  });

  afterAll(() => app.close());

  it('documents the responses of locked routes, on methods in any order and on classes', () => {
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    const statusesOf = (path: string): string[] => Object.keys(document.paths[path]?.post?.responses ?? {});
    expect(statusesOf('/payments/above')).toEqual(['201', '409', '503']);
    expect(statusesOf('/payments/below')).toEqual(['423', '503']);
    expect(statusesOf('/stock')).toEqual(['201', '409', '503']);
  });

  it('documents what a client receives', async () => {
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    const documented = document.paths['/payments/above']?.post?.responses['409'] as {
      headers: object;
      content: Record<string, { schema: { properties: Record<string, { enum?: unknown[] }>; required: string[] } }>;
    };
    const { properties, required } = documented.content['application/json'].schema;
    await using lease = await app.get(LockService).acquire('payment:7');
    const { status, body, headers } = await request(app.getHttpServer()).post('/payments/above').send({ id: '7' });
    expect([status, lease.isHeld()]).toEqual([409, true]);
    expect(Object.keys(properties).sort()).toEqual(Object.keys(body as object).sort());
    expect(Object.keys(body as object)).toEqual(expect.arrayContaining(required));
    expect(properties['code'].enum).toContain((body as { code: string }).code);
    for (const header of Object.keys(documented.headers)) expect(headers).toHaveProperty([header.toLowerCase()]);
  });
});
