import { once } from 'node:events';

import type { INestApplication } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { MessageBody, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { CurrentLease, DistributeLock, type Lease, LockModule, LockService } from 'nestjs-distribute-lock';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';

import { useRedis } from '../support/use-redis.js';
import { REFUSED, showLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

@WebSocketGateway()
class Orders {
  constructor(private readonly locks: LockService) {}

  @SubscribeMessage('settle')
  @DistributeLock({ key: 'settle:#{data.id}' })
  async settle(@MessageBody() _order: { id: string }, @CurrentLease() lease?: Lease): Promise<object> {
    return { event: 'settled', data: await stage.play(lease, this.locks.current()) };
  }

  @SubscribeMessage('patient')
  @DistributeLock({ key: 'settle:7', wait: 1 })
  async patient(): Promise<object> {
    return { event: 'settled', data: 'free' };
  }
}

/** A client that sends one message and resolves with the next message that it receives. */
interface Client {
  ask(event: string): Promise<unknown>;
  close(): void;
}

async function socketIo(url: string): Promise<Client> {
  const socket = io(url, { transports: ['websocket'] });
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return {
    ask: (event) =>
      new Promise((resolve) => {
        socket.onAny((_event, data: unknown) => resolve(data));
        socket.emit(event, { id: '7' });
      }),
    close: () => void socket.disconnect(),
  };
}

async function plain(url: string): Promise<Client> {
  const socket = new WebSocket(url.replace('http', 'ws'));
  await once(socket, 'open');
  return {
    ask: async (event) => {
      const answered = once(socket, 'message');
      socket.send(JSON.stringify({ event, data: { id: '7' } }));
      const [message] = (await answered) as [Buffer];
      return (JSON.parse(message.toString()) as { data: unknown }).data;
    },
    close: () => socket.close(),
  };
}

describe.each([
  ['Socket.IO', (app: INestApplication) => new IoAdapter(app), socketIo],
  ['ws', (app: INestApplication) => new WsAdapter(app), plain],
] as const)('over %s', (_name, adapter, connect) => {
  const redis = useRedis();
  let app: INestApplication;
  let url: string;
  const ask = async (event: string): Promise<unknown> => {
    const client = await connect(url);
    try {
      return await client.ask(event);
    } finally {
      client.close();
    }
  };

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [
        LockModule.forRoot({
          connection: redis.url,
          prefix: redis.prefix,
          errors: { LOCK_WAIT_TIMEOUT: () => new WsException({ mine: 'short and stout' }) },
        }),
      ],
      providers: [Orders],
    }).compile();
    app = module.createNestApplication({ logger: false });
    app.useWebSocketAdapter(adapter(app));
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(() => app.close());

  it('locks a handler of @SubscribeMessage', async () => {
    await showLocked(redis, {
      key: 'settle:7',
      call: () => ask('settle'),
      refused: async () => expect(await ask('settle')).toEqual(REFUSED),
      answer: 'done',
    });
  });

  it('responds with an exception of the user where the module has one', async () => {
    const held = await app.get(LockService).acquire('settle:7');
    expect(await ask('patient')).toMatchObject({ mine: 'short and stout' });
    await held.release();
  });
});
