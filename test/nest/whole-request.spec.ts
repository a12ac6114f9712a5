import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  ImATeapotException,
  type INestApplication,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type ModuleMetadata,
  type NestInterceptor,
  type PipeTransform,
  Query,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, ExternalContextCreator } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { GraphQLModule, Query as GraphQLQuery, Resolver } from '@nestjs/graphql';
import {
  ClientProxyFactory,
  MessagePattern,
  type MicroserviceOptions,
  RpcException,
  Transport,
} from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { type Lease, type LockError, LockModule, type LockModuleOptions, LockService } from 'nestjs-distribute-lock';
import { lastValueFrom, type Observable } from 'rxjs';
import request from 'supertest';
import { WebSocket } from 'ws';

import { onCleanup } from '../support/cleanup.js';
import { freePort } from '../support/free-port.js';
import { REFUSED } from './support/show-locked.js';

const TEAPOT: Partial<LockModuleOptions> = {
  errors: { LOCK_CONTENDED: async () => new ImATeapotException('short and stout') },
};
const RAW: Partial<LockModuleOptions> = { errors: { default: (error) => error } };

/** Needs a lock that the test holds, wherever Nest calls it. */
@Injectable()
class Needy implements CanActivate, PipeTransform, NestInterceptor {
  constructor(private readonly locks: LockService) {}

  async canActivate(): Promise<boolean> {
    await this.locks.acquire('order');
    return true;
  }

  async transform(): Promise<void> {
    await this.locks.acquire('order');
  }

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    if (context.getHandler() === Orders.prototype.interceptor) await this.locks.acquire('order');
    return next.handle();
  }

  async use(): Promise<void> {
    await this.locks.acquire('order');
  }
}

@Controller()
class Orders {
  @Get('guard')
  @UseGuards(Needy)
  guard(): void {}

  @Get('pipe')
  pipe(@Query(Needy) _query: unknown): void {}

  @Get('interceptor')
  interceptor(): void {}

  @Get('middleware')
  middleware(): void {}
}

@Injectable()
class Reports {
  @UseGuards(Needy)
  async write(): Promise<void> {}
}

function respond(host: ArgumentsHost, status: number, body: object): void {
  const reply = host.switchToHttp().getResponse<ServerResponse | { raw: ServerResponse }>();
  // Middleware of Fastify gets the response of Node.
  const response = 'raw' in reply ? reply.raw : reply;
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

@Catch(HttpException)
class Envelope implements ExceptionFilter<HttpException> {
  catch(exception: HttpException, host: ArgumentsHost): void {
    respond(host, exception.getStatus(), { problem: exception.message, cause: (exception.cause as LockError).code });
  }
}

@Catch()
class CatchAll implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const status = exception instanceof HttpException ? exception.getStatus() : 500;
    respond(host, status, { problem: (exception as Error).message });
  }
}

@Catch(Error)
class Unrelated implements ExceptionFilter {
  catch(exception: Error, host: ArgumentsHost): void {
    respond(host, exception.name === 'LockContendedError' ? 423 : 500, {});
  }
}

const PLACES = ['guard', 'pipe', 'interceptor', 'middleware'];
const ADAPTERS = [
  ['Express', undefined],
  ['Fastify', () => new FastifyAdapter()],
] as const;

async function start(
  given: ModuleMetadata & { options?: Partial<LockModuleOptions> },
  prepare: (app: INestApplication) => void = () => undefined,
  adapter?: () => FastifyAdapter,
): Promise<{ app: INestApplication; url: string }> {
  const { options, imports = [], providers = [], ...metadata } = given;

  @Module({
    imports: [LockModule.forRoot({ connection: 'memory', ...options }), ...imports],
    // Before the interceptor of LockModule, because the root module comes first.
    providers: [{ provide: APP_INTERCEPTOR, useClass: Needy }, ...providers],
    ...metadata,
  })
  class App {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(Needy).forRoutes('middleware');
    }
  }

  const module = await Test.createTestingModule({ imports: [App] }).compile();
  const app = adapter === undefined ? module.createNestApplication() : module.createNestApplication(adapter());
  app.useLogger(false);
  prepare(app);
  await app.listen(0, '127.0.0.1');
  const lease: Lease = await app.get(LockService).acquire('order');
  onCleanup(async () => {
    await lease.release();
    await app.close();
  });
  return { app, url: await app.getUrl() };
}

describe('A lock error outside of the handler', () => {
  describe.each(ADAPTERS)('over HTTP with %s', (_name, adapter) => {
    it('is 409 with Retry-After in a guard, pipe, interceptor and middleware', async () => {
      const { url } = await start({ controllers: [Orders] }, undefined, adapter);
      for (const place of PLACES) {
        const { status, body, headers } = await request(url).get(`/${place}`);
        expect([place, status, body]).toEqual([place, 409, { statusCode: 409, ...REFUSED }]);
        expect(headers['retry-after']).toMatch(/^\d+$/);
      }
    });

    it('is the exception of the option "errors"', async () => {
      const { url } = await start({ controllers: [Orders], options: TEAPOT }, undefined, adapter);
      for (const place of PLACES) expect((await request(url).get(`/${place}`)).status).toBe(418);
    });

    it.each<[string, Type<ExceptionFilter>, object]>([
      ['HTTP exceptions', Envelope, { problem: REFUSED.message, cause: 'LOCK_CONTENDED' }],
      ['all exceptions', CatchAll, { problem: REFUSED.message }],
    ])('reaches a global filter for %s as the exception of HTTP', async (_what, filter, body) => {
      const ofModule = { controllers: [Orders], providers: [{ provide: APP_FILTER, useClass: filter }] };
      const ofMain = (app: INestApplication) => void app.useGlobalFilters(new filter());
      for (const { url } of [
        await start(ofModule, undefined, adapter),
        await start({ controllers: [Orders] }, ofMain, adapter),
      ]) {
        for (const place of PLACES) {
          const response = await request(url).get(`/${place}`);
          expect([place, response.status, response.body]).toEqual([place, 409, body]);
        }
      }
    });
  });

  it('is the lock error for a global filter of lock errors if "errors" does not replace it', async () => {
    const { url } = await start({ controllers: [Orders], options: RAW }, (app) => {
      app.useGlobalFilters(new Unrelated());
    });
    for (const place of PLACES) expect((await request(url).get(`/${place}`)).status).toBe(423);
  });

  it('is the lock error for a filter of the controller', async () => {
    @Controller()
    @UseFilters(new Unrelated())
    class Filtered extends Orders {}
    const { url } = await start({ controllers: [Filtered] });
    expect((await request(url).get('/guard')).status).toBe(423);
  });

  it('is the exception of HTTP for a call by ExternalContextCreator', async () => {
    const { app } = await start({ controllers: [Orders], providers: [Reports] });
    const reports = app.get(Reports);
    const call = app.get(ExternalContextCreator).create(reports, Reports.prototype.write, 'write');
    await expect(call()).rejects.toMatchObject({ status: 409, cause: { code: 'LOCK_CONTENDED' } });
  });

  it('is an error with its code over GraphQL', async () => {
    @Resolver()
    class Resolvers {
      @GraphQLQuery(() => String)
      @UseGuards(Needy)
      order(): string {
        return 'free';
      }
    }
    const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      playground: false,
    });
    const ask = async (options?: Partial<LockModuleOptions>): Promise<unknown> => {
      const { url } = await start({ imports: [graphql], providers: [Resolvers], ...(options && { options }) });
      const { body } = await request(url).post('/graphql').send({ query: '{ order }' });
      return (body as { errors: unknown[] }).errors[0];
    };
    expect(await ask()).toMatchObject({ message: REFUSED.message, extensions: { code: 'LOCK_CONTENDED' } });
    expect(await ask(TEAPOT)).toMatchObject({ message: 'short and stout' });
  });

  it.each([
    ['', undefined, REFUSED],
    [
      ', or the exception of the option "errors"',
      { errors: { default: () => new RpcException('mine') } },
      { message: 'mine', status: 'error' },
    ],
  ])('is the payload over RPC%s', async (_name, options, expected) => {
    @Controller()
    class Messages {
      @MessagePattern('order')
      @UseGuards(Needy)
      order(): string {
        return 'free';
      }
    }
    const connection = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } } as const;
    const { app } = await start({ controllers: [Messages], ...(options && { options }) }, (given) => {
      given.connectMicroservice<MicroserviceOptions>(connection, { inheritAppConfig: true });
    });
    await app.startAllMicroservices();
    const client = ClientProxyFactory.create(connection);
    onCleanup(() => void client.close());
    const answer = lastValueFrom(client.send<unknown>('order', {}));
    expect(await answer.catch((error: unknown) => error)).toEqual(expected);
  });

  it('is the event "exception" with the payload over WebSocket', async () => {
    @WebSocketGateway()
    class Gateway {
      @SubscribeMessage('order')
      @UseGuards(Needy)
      order(): string {
        return 'free';
      }
    }
    const { url } = await start({ providers: [Gateway] }, (app) => void app.useWebSocketAdapter(new WsAdapter(app)));
    const socket = new WebSocket(url.replace('http', 'ws'));
    onCleanup(() => socket.close());
    await once(socket, 'open');
    socket.send(JSON.stringify({ event: 'order', data: {} }));
    const [message] = (await once(socket, 'message')) as [Buffer];
    expect(JSON.parse(message.toString())).toEqual({ event: 'exception', data: REFUSED });
  });
});
