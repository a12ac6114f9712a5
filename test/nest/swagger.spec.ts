import { Body, Controller, type INestApplication, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiCreatedResponse, ApiProperty, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
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

class Problem {
  @ApiProperty()
  readonly title!: string;
}

@Controller('envelopes')
class Envelopes {
  @Post('type')
  @ApiLockResponses({ all: true, type: Problem })
  @DistributeLock({ key: 'a' })
  async type(): Promise<void> {}

  @Post('schema')
  @ApiLockResponses({ schema: { type: 'string' }, contendedStatus: 503 })
  @DistributeLock({ key: 'a', contendedStatus: 503 })
  async schema(): Promise<void> {}

  @Post('own')
  @ApiLockResponses({ all: true, contendedStatus: 503 })
  @DistributeLock({ key: 'a', contendedStatus: 503 })
  async own(): Promise<void> {}
}

@Controller('stock')
@ApiLockResponses()
class Stock {
  @Post()
  @DistributeLock({ key: 'stock' })
  async take(): Promise<void> {}
}

@Module({ imports: [LockModule.forRoot({ connection: 'memory' })], controllers: [Payments, Envelopes, Stock] })
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

  it('documents the body of the application, and all statuses on request', () => {
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    const bodiesOf = (path: string): Record<string, unknown> => {
      const responses = document.paths[`/envelopes/${path}`]?.post?.responses ?? {};
      return Object.fromEntries(
        Object.entries(responses).map(([status, each]) => [
          status,
          (each as { content: Record<string, { schema: object }> }).content['application/json'].schema,
        ]),
      );
    };
    const problem = { $ref: '#/components/schemas/Problem' };
    expect(bodiesOf('type')).toEqual({ '400': problem, '409': problem, '500': problem, '503': problem });
    expect(bodiesOf('schema')).toEqual({ '503': { type: 'string' } });
    const own = bodiesOf('own') as Record<string, { properties: { code: { enum: string[] } } }>;
    expect(Object.keys(own)).toEqual(['400', '500', '503']);
    expect(own['503'].properties.code.enum).toEqual([
      'LOCK_CONTENDED',
      'LOCK_WAIT_TIMEOUT',
      'LOCK_UNAVAILABLE',
      'LOCK_SHUTDOWN',
      'LOCK_ABORTED',
    ]);
    expect(own['400'].properties).not.toHaveProperty('retryAfterMs');
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
