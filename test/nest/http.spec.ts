import {
  Body,
  Controller,
  Get,
  ImATeapotException,
  type INestApplication,
  Injectable,
  Param,
  Post,
  Scope,
  Version,
  VersioningType,
} from '@nestjs/common';
import { ContextIdFactory, type ContextIdStrategy } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { CurrentLease, DistributeLock, type Lease, LockModule, LockService } from 'nestjs-distribute-lock';

import { useRedis } from '../support/use-redis.js';
import { ADAPTERS } from './support/adapters.js';
import { REFUSED, showLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

@Controller('default')
class DefaultController {
  constructor(private readonly locks: LockService) {}

  @Post()
  @DistributeLock({ key: 'default:#{body.channel}' })
  async post(@Body() _body: object, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Get('own')
  @DistributeLock({ key: 'default:web', wait: 1 })
  async own(): Promise<string> {
    return 'free';
  }

  @Get('keyless')
  @DistributeLock({ key: '#{query.key}' })
  async keyless(): Promise<void> {}
}

@Controller({ path: 'request-scoped', scope: Scope.REQUEST })
class RequestScopedController {
  constructor(private readonly locks: LockService) {}

  @Get(':id')
  @DistributeLock({ key: 'request-scoped:#{params.id}' })
  async get(@Param('id') _id: string, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

@Injectable({ scope: Scope.REQUEST, durable: true })
class Tenant {}

@Controller({ path: 'durable', scope: Scope.REQUEST, durable: true })
class DurableController {
  constructor(
    private readonly locks: LockService,
    readonly tenant: Tenant,
  ) {}

  @Get()
  @DistributeLock({ key: 'durable:#{query.id}' })
  async get(@CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

@Controller({ path: 'versioned', version: '1' })
class VersionedController {
  constructor(private readonly locks: LockService) {}

  @Get()
  @DistributeLock({ key: 'version-1' })
  async one(@CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Get()
  @Version('2')
  @DistributeLock({ key: 'version-2:#{headers.X-Tenant}' })
  async two(@CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

/** Uses one tree of durable providers for all requests. */
const oneTree: ContextIdStrategy = {
  attach: (contextId) => {
    const tree = ContextIdFactory.create();
    return { resolve: (info) => (info.isTreeDurable ? tree : contextId), payload: {} };
  },
};

describe.each(ADAPTERS)('over HTTP on %s', (_name, adapter) => {
  const redis = useRedis();
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    ContextIdFactory.apply(oneTree);
    const module = await Test.createTestingModule({
      imports: [
        LockModule.forRoot({
          connection: redis.url,
          prefix: redis.prefix,
          errors: {
            LOCK_WAIT_TIMEOUT: () => new ImATeapotException('short and stout'),
            LOCK_KEY: () => Promise.reject(new ImATeapotException('nothing in it')),
          },
        }),
      ],
      controllers: [DefaultController, RequestScopedController, DurableController, VersionedController],
      providers: [Tenant],
    }).compile();
    app = module.createNestApplication(adapter(), { logger: false });
    app.setGlobalPrefix('api');
    app.enableVersioning({ type: VersioningType.URI, defaultVersion: ['1'] });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(() => app.close());

  it.each([
    ['a handler of a default controller', 'default:web', 'POST', '/api/v1/default'],
    ['a handler of a request-scoped controller', 'request-scoped:42', 'GET', '/api/v1/request-scoped/42'],
    ['a handler of a durable controller', 'durable:7', 'GET', '/api/v1/durable?id=7'],
    ['a versioned route', 'version-1', 'GET', '/api/v1/versioned'],
    ['a version of one handler', 'version-2:acme', 'GET', '/api/v2/versioned'],
  ])('locks %s', async (_what, key, method, path) => {
    const headers = { 'content-type': 'application/json', 'x-tenant': 'acme' };
    const ask = () => {
      const sent = method === 'POST' ? { body: JSON.stringify({ channel: 'web' }) } : {};
      return fetch(`${url}${path}`, { method, headers, ...sent });
    };

    await showLocked(redis, {
      key,
      call: async () => (await ask()).text(),
      refused: async () => {
        const response = await ask();
        expect(response.status).toBe(409);
        expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
        expect(await response.json()).toEqual({ statusCode: 409, ...REFUSED });
      },
      answer: 'done',
    });
  });

  it('responds with an exception of the user where the module has one', async () => {
    const held = await app.get(LockService).acquire('default:web');
    const response = await fetch(`${url}/api/v1/default/own`);
    expect(response.status).toBe(418);
    expect(await response.json()).toMatchObject({ message: 'short and stout' });
    expect(response.headers.get('retry-after')).not.toBeNull();
    await held.release();
  });

  it('responds with an exception of the user that rejects a promise', async () => {
    const response = await fetch(`${url}/api/v1/default/keyless`, { signal: AbortSignal.timeout(5000) });
    expect(response.status).toBe(418);
    expect(await response.json()).toMatchObject({ message: 'nothing in it' });
  });
});
