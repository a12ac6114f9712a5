import { jest } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  Get,
  type INestApplication,
  Logger,
  Module,
  Param,
  Post,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, RouterModule } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

class Allow implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

const open: INestApplication[] = [];
const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);

beforeEach(() => void warn.mockClear());
afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()));
});
afterAll(() => warn.mockRestore());

interface Wiring {
  readonly modulePath?: string;
  readonly globalGuard?: boolean;
  readonly before?: (app: INestApplication) => void;
}

/** Starts an application with these controllers. */
async function start(controllers: Type[], { modulePath, globalGuard = false, before }: Wiring = {}): Promise<void> {
  @Module({ controllers, providers: globalGuard ? [{ provide: APP_GUARD, useClass: Allow }] : [] })
  class Feature {}
  const paths = modulePath === undefined ? [] : [RouterModule.register([{ path: modulePath, module: Feature }])];
  const module = await Test.createTestingModule({
    imports: [LockModule.forRoot({ connection: 'memory' }), Feature, ...paths],
  }).compile();
  const app = module.createNestApplication({ logger: false });
  open.push(app);
  before?.(app);
  await app.init();
}

const warnings = (): unknown[] => warn.mock.calls.flat().filter((text) => String(text).includes('guard'));

describe('the check of #{params.*} at start', () => {
  const refused = (message: RegExp) =>
    expect.objectContaining({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(message) as string }) as Error;

  it('refuses a parameter that the route does not have, and names the route and its parameters', async () => {
    @Controller('orders')
    class Orders {
      @Get(':id/lines/:line')
      @DistributeLock({ key: 'order:#{params.di}' })
      async get(@Param('id') _id: string): Promise<void> {}
    }
    await expect(start([Orders])).rejects.toEqual(
      refused(
        /^#\{params\.di\} in the lock key "order:#\{params\.di\}" of Orders\.get is not a parameter of its route "\/orders\/:id\/lines\/:line", which has id, line\./,
      ),
    );
  });

  it('refuses a class-level template if one of its routes does not have the parameter', async () => {
    @Controller('orders')
    @DistributeLock({ key: 'order:#{params.id}' })
    class Orders {
      @Get(':id')
      async get(): Promise<void> {}

      @Post()
      async create(): Promise<void> {}
    }
    await expect(start([Orders])).rejects.toEqual(refused(/of Orders\.create .* route "\/orders", which has none\./));
  });

  it('checks each path of a route, keys, and inherited routes of each controller', async () => {
    @Controller('several')
    class Several {
      @DistributeLock({ keys: ['fixed', 'order:#{params.id}'] })
      @Get([':id', 'latest'])
      async get(): Promise<void> {}
    }
    await expect(start([Several])).rejects.toEqual(refused(/route "\/several\/latest", which has none/));

    abstract class Base {
      @Get('items')
      @DistributeLock({ key: 'tenant:#{params.tenant}' })
      async items(): Promise<void> {}
    }
    @Controller(':tenant/shop')
    class Shop extends Base {}
    @Controller('admin')
    class Admin extends Base {}
    await start([Shop]);
    await expect(start([Shop, Admin])).rejects.toEqual(refused(/"\/admin\/items"/));

    @Controller('own')
    class Own extends Base {
      override async items(): Promise<void> {}
    }
    await start([Own]);
  });

  it('accepts parameters of the controller, the module, the global prefix, optional ones and wildcards', async () => {
    @Controller(['shop/:shop', 'store/:shop'])
    class Orders {
      @Get(':id{/:line}')
      @DistributeLock({ key: '#{params.region}:#{params.tenant}:#{params.shop}:#{params.id}:#{params.line}' })
      async get(): Promise<void> {}

      @Get('files/*rest')
      @DistributeLock({ key: 'file:#{params.rest.0}' })
      async file(): Promise<void> {}

      @Get('all/*')
      @DistributeLock({ key: 'file:#{params.path.0}' })
      async all(): Promise<void> {}
    }
    const before = (app: INestApplication): void => void app.setGlobalPrefix('api/:region');
    await start([Orders], { modulePath: ':tenant', before });
    await expect(start([Orders], { modulePath: ':tenant' })).rejects.toEqual(refused(/"region"|params\.region/));
  });

  it('checks only routes of HTTP', async () => {
    @Controller('mixed')
    class Mixed {
      @MessagePattern('plain')
      @DistributeLock({ key: 'order:#{data.id}' })
      async message(): Promise<void> {}

      @DistributeLock({ key: 'order:#{params.anything}' })
      async helper(): Promise<void> {}

      @Get(':id')
      @DistributeLock({ key: (id: string) => id })
      async get(@Param('id') _id: string): Promise<void> {}
    }
    await start([Mixed]);
  });
});

describe('the check of #{user.*} at start', () => {
  @Controller('carts')
  class Carts {
    @Post()
    @DistributeLock({ key: 'cart:#{user.id}' })
    async order(): Promise<void> {}

    @Get()
    @DistributeLock({ keys: ['user:#{user}', 'user:#{user.id}'] })
    @UseGuards(Allow)
    async guarded(): Promise<void> {}
  }

  it('warns once for each route without a guard', async () => {
    await start([Carts]);
    expect(warnings()).toEqual([
      '#{user.id} in the lock key "cart:#{user.id}" of Carts.order needs a user, but the route "/carts" has no guard. ' +
        'Without a guard or middleware that sets the user, each call is refused.',
    ]);
  });

  it('accepts guards of the class and of the application', async () => {
    @UseGuards(Allow)
    @Controller('carts')
    class Guarded extends Carts {}
    await start([Guarded]);
    await start([Carts], { globalGuard: true });
    await start([Carts], { before: (app) => void app.useGlobalGuards(new Allow()) });
    expect(warnings()).toEqual([]);
  });
});
