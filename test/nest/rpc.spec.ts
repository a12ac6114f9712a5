import { Controller, type INestApplication, Injectable, UseInterceptors } from '@nestjs/common';
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  RpcException,
  Transport,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import {
  CurrentLease,
  DistributeLock,
  type Lease,
  LockEvents,
  LockInterceptor,
  LockModule,
  LockService,
} from 'nestjs-distribute-lock';
import { lastValueFrom, Observable } from 'rxjs';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { startRedisServer } from '../support/redis-server.js';
import { useRedis } from '../support/use-redis.js';
import { RecordingLogger } from './support/recording-logger.js';
import { REFUSED, showLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

interface Order {
  readonly id: string;
}

/** With a string as pattern, the types of Nest allow no parameter behind the payload. */
const OPENED = { event: 'opened' };
const CLOSED = { event: 'closed' };

@Controller()
class Orders {
  constructor(private readonly locks: LockService) {}

  @MessagePattern('settle')
  @DistributeLock({ key: 'settle:#{data.id}' })
  async settle(@Payload() _order: Order, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @MessagePattern('watch')
  @DistributeLock({ key: 'watch:#{data.id}' })
  watch(@Payload() _order: Order, @CurrentLease() lease?: Lease): Observable<string> {
    return new Observable((subscriber) => {
      stage.play(lease, this.locks.current()).then(
        (value) => {
          subscriber.next(value);
          subscriber.complete();
        },
        (error: unknown) => subscriber.error(error),
      );
    });
  }

  @EventPattern(OPENED)
  @DistributeLock({ key: 'opened:#{arg0.id}', onContended: 'skip' })
  async opened(@Payload() _order: Order, @CurrentLease() lease?: Lease): Promise<void> {
    await stage.play(lease, this.locks.current());
  }

  @EventPattern(CLOSED)
  @DistributeLock({ key: 'closed' })
  async closed(): Promise<void> {}

  @MessagePattern('patient')
  @DistributeLock({ key: 'settle:7', wait: 1 })
  async patient(): Promise<string> {
    return 'free';
  }
}

type Connection = Parameters<typeof ClientProxyFactory.create>[0] & MicroserviceOptions;

const TRANSPORTS: readonly (readonly [string, () => Promise<Connection>])[] = [
  [
    'TCP',
    async () => ({ transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } }) as Connection,
  ],
  [
    'Redis',
    async () => {
      const { port } = await startRedisServer();
      return { transport: Transport.REDIS, options: { host: '127.0.0.1', port } } as Connection;
    },
  ],
];

describe.each(TRANSPORTS)('over the %s transport', (_name, connection) => {
  const redis = useRedis();
  let app: INestApplication;
  let client: ReturnType<typeof ClientProxyFactory.create>;
  const logger = new RecordingLogger();
  const send = (pattern: string) => lastValueFrom(client.send<unknown>(pattern, { id: '7' }));

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [
        LockModule.forRoot({
          connection: redis.url,
          prefix: redis.prefix,
          errors: { LOCK_WAIT_TIMEOUT: () => new RpcException('short and stout') },
        }),
      ],
      controllers: [Orders],
    }).compile();
    app = module.createNestApplication({ logger });
    const options = await connection();
    // In a hybrid application the microservice does not inherit global enhancers, so the decorator brings its own.
    app.connectMicroservice<MicroserviceOptions>(options);
    await app.startAllMicroservices();
    await app.init();
    client = ClientProxyFactory.create(options);
    await client.connect();
  });

  afterAll(async () => {
    await client.close();
    await app.close();
  });

  it.each([
    ['@MessagePattern', 'settle'],
    ['@MessagePattern that answers with an Observable', 'watch'],
  ])('locks a handler of %s', async (_what, pattern) => {
    await showLocked(redis, {
      key: `${pattern}:7`,
      call: () => send(pattern),
      refused: async () => expect(await send(pattern).catch((error: unknown) => error)).toEqual(REFUSED),
      answer: 'done',
    });
  });

  it('locks a handler of @EventPattern, which skips while another call runs', async () => {
    const contended: string[] = [];
    const stop = app.get(LockEvents).listen(({ type, name }) => void (type === 'contended' && contended.push(name)));
    const emit = () => lastValueFrom(client.emit(OPENED, { id: '7' }), { defaultValue: undefined });
    await showLocked(redis, {
      key: 'opened:7',
      call: emit,
      refused: async () => {
        await emit();
        await eventually(() => expect(contended).toEqual(['Orders.opened']));
      },
    });
    stop();
  });

  it('warns of a refused event, whose sender gets no error', async () => {
    const warnings = () => logger.lines.filter(([level, line]) => level === 'warn' && line.includes('Orders.closed'));
    const held = await app.get(LockService).acquire('closed');
    await lastValueFrom(client.emit(CLOSED, {}), { defaultValue: undefined });
    await eventually(() =>
      expect(warnings()).toEqual([
        ['warn', expect.stringMatching(/^Orders\.closed failed for an event, .* The lock "Orders\.closed" is held by/)],
      ]),
    );
    await held.release();
  });

  it('responds with an exception of the user where the module has one', async () => {
    const held = await app.get(LockService).acquire('settle:7');
    expect(await send('patient').catch((error: unknown) => error)).toMatchObject({ message: 'short and stout' });
    await held.release();
  });
});

@Injectable()
class Stock {
  @DistributeLock({ key: 'stock' })
  async take(): Promise<string> {
    return 'taken';
  }
}

/** Without a decorator of the library. */
@Controller()
class Undecorated {
  constructor(private readonly stock: Stock) {}

  @MessagePattern('take')
  take(): Promise<string> {
    return this.stock.take();
  }
}

@Controller()
@UseInterceptors(LockInterceptor)
class Decorated extends Undecorated {}

describe('a handler of a hybrid application that calls a locked service', () => {
  it.each([
    ['the payload with inheritAppConfig', Undecorated, true, REFUSED],
    ['the payload with LockInterceptor on its controller', Decorated, false, REFUSED],
    [
      'an error without the payload otherwise',
      Undecorated,
      false,
      { status: 'error', message: 'Internal server error' },
    ],
  ])('responds with %s', async (_what, controller, inheritAppConfig, expected) => {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: 'memory' })],
      controllers: [controller],
      providers: [Stock],
    }).compile();
    const app = module.createNestApplication({ logger: false });
    const connection = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } } as const;
    app.connectMicroservice<MicroserviceOptions>(connection, { inheritAppConfig });
    await app.startAllMicroservices();
    await app.init();
    const client = ClientProxyFactory.create(connection);
    onCleanup(async () => {
      await client.close();
      await app.close();
    });
    const held = await app.get(LockService).acquire('stock');
    const answer = lastValueFrom(client.send<unknown>('take', {}));
    expect(await answer.catch((error: unknown) => error)).toEqual(expected);
    await held.release();
  });
});
