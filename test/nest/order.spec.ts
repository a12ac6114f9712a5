import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  HttpCode,
  type INestApplication,
  Injectable,
  Param,
  Post,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  ApiConflictResponse,
  ApiOperation,
  ApiProperty,
  ApiTags,
  DocumentBuilder,
  SwaggerModule,
} from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';
import request from 'supertest';

import { RecordingStore } from './support/recording-store.js';

type Wrap = (...below: MethodDecorator[]) => MethodDecorator;

class Dto {
  @ApiProperty({ example: 'web' })
  channel!: string;
}

@Injectable()
class Roles implements CanActivate {
  private readonly reflector = new Reflector();

  canActivate(context: ExecutionContext): boolean {
    return this.reflector.get<string>('role', context.getHandler()) !== 'admin';
  }
}

const lock = DistributeLock({ key: 'k:#{arg0}:#{arg1.channel}' }) as MethodDecorator;

/** The same decorators with the lock at each position among them, and without it. */
const ORDERS: readonly (readonly [string, Wrap])[] = [
  ['without the lock', (...all) => stack(...all)],
  ...[0, 1, 2, 3, 4].map((at): [string, Wrap] => [
    `with the lock at place ${at}`,
    (...all) => stack(...all.slice(0, at), lock, ...all.slice(at)),
  ]),
  ['with two locks', (...all) => stack(lock, ...all, DistributeLock({ key: 'inner' }) as MethodDecorator)],
];

function stack(...decorators: MethodDecorator[]): MethodDecorator {
  return (target, name, descriptor) => {
    for (const decorate of [...decorators].reverse()) decorate(target, name, descriptor);
  };
}

function controllerOf(wrap: Wrap): new () => object {
  @ApiTags('orders')
  @Controller('orders')
  class Orders {
    @wrap(Post(':id'), HttpCode(202), ApiOperation({ summary: 'open' }), ApiConflictResponse({ description: 'taken' }))
    async open(@Param('id') id: string, @Body() dto: Dto): Promise<{ id: string; channel: string }> {
      return { id, channel: dto.channel };
    }

    @wrap(Get('admin/:id/:channel'), UseGuards(Roles), SetMetadata('role', 'admin'), ApiOperation({ summary: 'admin' }))
    async admin(@Param('id') _id: string, @Param() _all: Dto): Promise<string> {
      return 'in';
    }
  }
  return Orders;
}

/** The OpenAPI document of the controller without the lock, which runs first. */
let document: unknown;

describe.each(ORDERS)('a handler %s', (name, wrap) => {
  const locked = name !== 'without the lock';
  let app: INestApplication;
  let store: RecordingStore;

  beforeAll(async () => {
    store = new RecordingStore();
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: store })],
      controllers: [controllerOf(wrap)],
    }).compile();
    app = await module.createNestApplication({ logger: false }).init();
  });

  afterAll(() => app.close());

  it('keeps route, status code and parameters', async () => {
    const response = await request(app.getHttpServer() as never)
      .post('/orders/7')
      .send({ channel: 'web' });
    expect(response.status).toBe(202);
    expect(response.body).toEqual({ id: '7', channel: 'web' });
    expect(store.commands.includes('acquire k:7:web')).toBe(locked);
  });

  it('keeps guard and role', async () => {
    store.commands.length = 0;
    expect((await request(app.getHttpServer() as never).get('/orders/admin/7/web')).status).toBe(403);
    expect(store.commands).toEqual([]);
  });

  it('keeps its place in the OpenAPI document', () => {
    const { paths, components } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    expect(Object.keys(paths)).toEqual(['/orders/{id}', '/orders/admin/{id}/{channel}']);
    document ??= { paths, components };
    expect({ paths, components }).toEqual(document);
  });
});
