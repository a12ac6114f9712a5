import { once } from 'node:events';

import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  Body,
  Controller,
  Get,
  Header,
  type INestApplication,
  Injectable,
  Param,
  Post,
  UseGuards,
} from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Args, GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import {
  ClientProxyFactory,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { CurrentLease, DistributeLock, type Lease, LockModule, LockService } from 'nestjs-distribute-lock';
import { lastValueFrom } from 'rxjs';
import { WebSocket } from 'ws';

import { freePort } from '../support/free-port.js';
import { useRedis } from '../support/use-redis.js';
import { isLocked, REFUSED, showLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

interface Order {
  readonly id: string;
}

@Injectable()
class BaseOrders {
  constructor(protected readonly locks: LockService) {}

  @Post('inherited')
  async inherited(@Body() _order: Order, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

const forbidden = { canActivate: () => false };

@DistributeLock({ key: 'order:#{body.id}' })
@Controller('orders')
class Orders extends BaseOrders {
  @Post('own')
  @Header('x-kept', 'yes')
  async own(@Body() _order: Order, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Post('more')
  @DistributeLock({ key: 'more:#{body.id}' })
  async more(@Body() _order: Order, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Post('forbidden')
  @UseGuards(forbidden)
  async forbidden(): Promise<string> {
    return stage.play(undefined, undefined);
  }

  async noHandler(): Promise<Lease | undefined> {
    return this.locks.current();
  }
}

/** The base class, without a lock. */
@Controller('plain')
class Plain extends BaseOrders {
  @Get('helper/:id')
  async helper(@Param('id') _id: string): Promise<string> {
    return this.locks.current() === undefined ? 'unlocked' : 'locked';
  }

  override async inherited(_order: Order): Promise<string> {
    return 'overridden';
  }
}

@Controller()
@DistributeLock({ key: 'message:#{data.id}' })
class Messages {
  constructor(private readonly locks: LockService) {}

  @MessagePattern('settle')
  async settle(@Payload() _order: Order, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

@WebSocketGateway()
@DistributeLock({ key: 'socket:#{data.id}' })
class Sockets {
  constructor(private readonly locks: LockService) {}

  @SubscribeMessage('settle')
  async settle(@MessageBody() _order: Order, @CurrentLease() lease?: Lease): Promise<object> {
    return { event: 'settled', data: await stage.play(lease, this.locks.current()) };
  }
}

@DistributeLock({ key: 'graph:#{args.id}' })
@Resolver()
class Graph {
  constructor(private readonly locks: LockService) {}

  @Query(() => String)
  async read(@Args('id') _id: string, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Mutation(() => String)
  async settle(@Args('id') _id: string, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

@DistributeLock({ key: 'event:#{arg0.id}' })
class Events {
  constructor(private readonly locks: LockService) {}

  @OnEvent('opened', { suppressErrors: false })
  async opened(_order: Order, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

describe('@DistributeLock on a class', () => {
  const redis = useRedis();
  let app: INestApplication;
  let url: string;
  let client: ReturnType<typeof ClientProxyFactory.create>;

  const post = (path: string): Promise<Response> =>
    fetch(`${url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: '7' }),
    });

  const graph = async (query: string): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })).json();
  };

  const socket = async (): Promise<unknown> => {
    const opened = new WebSocket(url.replace('http', 'ws'));
    await once(opened, 'open');
    const answered = once(opened, 'message');
    opened.send(JSON.stringify({ event: 'settle', data: { id: '7' } }));
    const [message] = (await answered) as [Buffer];
    opened.close();
    return (JSON.parse(message.toString()) as { data: unknown }).data;
  };

  const message = () => lastValueFrom(client.send<unknown>('settle', { id: '7' }));
  const event = () => app.get(EventEmitter2).emitAsync('opened', { id: '7' });

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [
        LockModule.forRoot({ connection: redis.url, prefix: redis.prefix }),
        EventEmitterModule.forRoot(),
        GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true, playground: false }),
      ],
      controllers: [Orders, Plain, Messages],
      providers: [Sockets, Graph, Events],
    }).compile();
    app = module.createNestApplication({ logger: false });
    app.useWebSocketAdapter(new WsAdapter(app));
    const options = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } } as const;
    app.connectMicroservice<MicroserviceOptions>(options);
    await app.startAllMicroservices();
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
    client = ClientProxyFactory.create(options);
    await client.connect();
  });

  afterAll(async () => {
    await client.close();
    await app.close();
  });

  it.each(['own', 'inherited'])('locks the %s route', async (path) => {
    await showLocked(redis, {
      key: 'order:7',
      call: async () => (await post(`orders/${path}`)).text(),
      refused: async () => {
        // The lock is that of the order, so it also excludes the other routes of the class.
        for (const other of ['own', 'inherited', 'more']) {
          const response = await post(`orders/${other}`);
          expect(response.status).toBe(409);
          expect(await response.json()).toEqual({ statusCode: 409, ...REFUSED });
        }
      },
      answer: 'done',
    });
  });

  it('adds to the lock of a method, which is the inner one', async () => {
    const locks = app.get(LockService);
    const inner = await locks.acquire('more:7');
    expect((await post('orders/more')).status).toBe(409);
    await inner.release();
    await showLocked(redis, {
      key: 'more:7',
      call: async () => (await post('orders/more')).text(),
      refused: async () => expect(await isLocked(redis, 'order:7')).toBe(true),
      answer: 'done',
    });
    expect(await isLocked(redis, 'order:7')).toBe(false);
  });

  it('does not change guards, headers and routes, and methods that are no handlers', async () => {
    expect((await post('orders/own')).headers.get('x-kept')).toBe('yes');
    expect((await post('orders/forbidden')).status).toBe(403);
    expect(await app.get(Orders).noHandler()).toBeUndefined();
  });

  it('does not change the base class and its other subclasses', async () => {
    expect(await (await fetch(`${url}/plain/helper/7`)).text()).toBe('unlocked');
    expect((await post('plain/inherited')).status).toBe(404);
  });

  it.each([
    ['@MessagePattern', 'message:7', message],
    ['@SubscribeMessage', 'socket:7', socket],
    ['@OnEvent', 'event:7', event],
  ])('locks a handler of %s', async (_what, key, call) => {
    await showLocked(redis, {
      key,
      call,
      refused: async () =>
        expect(await call().catch((error: unknown) => error)).toMatchObject({ code: 'LOCK_CONTENDED' }),
    });
  });

  it.each(['{ read(id: "7") }', 'mutation { settle(id: "7") }'])('locks the resolver of %s', async (query) => {
    await showLocked(redis, {
      key: 'graph:7',
      call: () => graph(query),
      refused: async () => expect(await graph(query)).toMatchObject({ errors: [{ message: REFUSED.message }] }),
      answer: { data: query.includes('read') ? { read: 'done' } : { settle: 'done' } },
    });
  });

  it('rejects an impossible key at import, and names the method', () => {
    const settle = async (): Promise<void> => undefined;
    const declare = (key: string, ...below: ((target: object, name: string, descriptor: object) => unknown)[]) => {
      class Invoices {
        async settle(): Promise<void> {}
      }
      Object.defineProperty(Invoices.prototype, 'settle', { value: settle.bind(undefined), configurable: true });
      const descriptor = Object.getOwnPropertyDescriptor(Invoices.prototype, 'settle')!;
      for (const decorator of below) decorator(Invoices.prototype, 'settle', descriptor);
      DistributeLock({ key })(Invoices);
    };
    expect(() => declare('#{body.id}', MessagePattern('a'))).toThrow(/Invoices\.settle.*call by rpc has no "body"/);
    expect(() => declare('#{data.id}', Post())).toThrow(/Invoices\.settle.*call by http has no "data"/);
    expect(() => declare('#{body.id}', Post(), MessagePattern('a'))).toThrow(/Invoices\.settle.*by rpc/);
    expect(() => declare('#{user.id}', OnEvent('a'))).toThrow(/Invoices\.settle.*by event/);
    expect(() => declare('#{body.id}', Get())).toThrow(/Invoices\.settle.*GET request has no body/);
    expect(() => declare('#{body.id}', Post())).not.toThrow();
  });
});
