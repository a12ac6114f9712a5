import { type INestApplicationContext, Inject, Injectable, mixin, Module, Scope, type Type } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Command, CommandBus, CommandHandler, CqrsModule, EventBus, EventsHandler } from '@nestjs/cqrs';
import { Test } from '@nestjs/testing';
import {
  CurrentLease,
  DistributeLock,
  isLockError,
  type Lease,
  LockEvents,
  LockModule,
  LockService,
} from 'nestjs-distribute-lock';
import { lastValueFrom, Observable } from 'rxjs';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { showLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

@Injectable()
class Stock {
  @Inject(LockService) readonly locks!: LockService;

  @DistributeLock({ key: 'plain:#{arg0}' })
  async plain(_sku: string, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  /** Calls itself, which a proxy around the object would not intercept. */
  async viaSelf(): Promise<string> {
    return this.plain('self');
  }

  async viaPrivate(): Promise<string> {
    return this.hidden('private');
  }

  @DistributeLock({ key: 'observable:#{arg0}' })
  observable(_sku: string, @CurrentLease() lease?: Lease): Observable<string> {
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

  @DistributeLock({ key: 'generator:#{arg0}' })
  async *generator(_sku: string, @CurrentLease() lease?: Lease): AsyncGenerator<string> {
    yield await stage.play(lease, this.locks.current());
  }

  @DistributeLock({ key: 'hidden:#{arg0}' })
  private async hidden(_sku: string, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

@Injectable({ scope: Scope.TRANSIENT })
class Transient extends Stock {}

@Injectable({ scope: Scope.REQUEST })
class PerRequest extends Stock {}

@Injectable()
class Inherited extends Stock {}

@Injectable()
class CallsSuper extends Stock {
  override async plain(sku: string): Promise<string> {
    return super.plain(sku);
  }
}

function stockOf(warehouse: string): Type<{ take(): Promise<string> }> {
  @Injectable()
  class Warehouse {
    constructor(readonly locks: LockService) {}

    @DistributeLock({ key: `warehouse:${warehouse}` })
    async take(@CurrentLease() lease?: Lease): Promise<string> {
      return stage.play(lease, this.locks.current());
    }
  }
  return mixin(Warehouse);
}

const North = stockOf('north');

class Settle extends Command<string> {
  constructor(readonly id: string) {
    super();
  }
}

@CommandHandler(Settle)
class SettleHandler {
  constructor(readonly locks: LockService) {}

  @DistributeLock({ key: 'command:#{arg0.id}' })
  async execute(_command: Settle, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}

class Settled {
  constructor(readonly id: string) {}
}

@EventsHandler(Settled)
class SettledHandler {
  constructor(readonly locks: LockService) {}

  @DistributeLock({ key: 'event:#{arg0.id}', onContended: 'skip' })
  async handle(_event: Settled, @CurrentLease() lease?: Lease): Promise<void> {
    await stage.play(lease, this.locks.current());
  }
}

@Module({ providers: [Stock] })
class LazyModule {}

/** An instance from a factory, without injection by Nest. */
function handMade(locks: LockService): Stock {
  return Object.assign(new Stock(), { locks });
}

describe('a method of a provider', () => {
  const redis = useRedis();
  const value = new Stock();
  let app: INestApplicationContext;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix }), CqrsModule.forRoot()],
      providers: [
        ...[Stock, Transient, PerRequest, Inherited, CallsSuper, North, SettleHandler, SettledHandler],
        { provide: 'factory', useFactory: handMade, inject: [LockService] },
        { provide: 'late factory', useFactory: async (locks: LockService) => handMade(locks), inject: [LockService] },
        { provide: 'value', useValue: value },
      ],
    }).compile();
    module.useLogger(false);
    app = await module.init();
    Object.assign(value, { locks: app.get(LockService) });
  });

  afterAll(() => app.close());

  type Call = () => Promise<unknown>;

  it.each<[string, string, () => Promise<Call> | Call]>([
    ['plain', 'plain:a', () => () => app.get(Stock).plain('a')],
    ['private', 'hidden:private', () => () => app.get(Stock).viaPrivate()],
    ['called by its own object', 'plain:self', () => () => app.get(Stock).viaSelf()],
    ['inherited', 'plain:a', () => () => app.get(Inherited).plain('a')],
    ['overridden, with a call of super', 'plain:a', () => () => app.get(CallsSuper).plain('a')],
    ['transient', 'plain:a', () => async () => (await app.resolve(Transient)).plain('a')],
    ['request-scoped', 'plain:a', () => async () => (await app.resolve(PerRequest)).plain('a')],
    ['of a mixin', 'warehouse:north', () => () => app.get(North).take()],
    ['of useFactory', 'plain:a', () => () => app.get<Stock>('factory').plain('a')],
    ['of an async useFactory', 'plain:a', () => () => app.get<Stock>('late factory').plain('a')],
    ['of useValue', 'plain:a', () => () => app.get<Stock>('value').plain('a')],
    ['that returns an Observable', 'observable:a', () => () => lastValueFrom(app.get(Stock).observable('a'))],
    [
      'that is an async generator',
      'generator:a',
      () => async () => {
        const all: string[] = [];
        for await (const part of app.get(Stock).generator('a')) all.push(part);
        return all.join('');
      },
    ],
    ['execute of a CQRS command handler', 'command:7', () => () => app.get(CommandBus).execute(new Settle('7'))],
    [
      'of a lazily loaded module',
      'plain:a',
      async () => {
        const lazy = await app.get(LazyModuleLoader).load(() => LazyModule);
        return () => lazy.get(Stock).plain('a');
      },
    ],
  ])('is locked: %s', async (_what, key, prepare) => {
    const call = await prepare();
    await showLocked(redis, {
      key,
      call,
      refused: async () => {
        const error: unknown = await call().catch((caught: unknown) => caught);
        expect(isLockError(error, 'LOCK_CONTENDED') && error.key).toBe(key);
      },
      answer: 'done',
    });
  });

  it('is locked: handle of a CQRS event handler, which skips while another call runs', async () => {
    const publish = async (): Promise<void> => void app.get(EventBus).publish(new Settled('7'));
    const skipped: string[] = [];
    const stop = app.get(LockEvents).listen(({ type, name }) => void (type === 'contended' && skipped.push(name)));
    await showLocked(redis, {
      key: 'event:7',
      call: publish,
      refused: async () => {
        await publish();
        await eventually(() => expect(skipped).toEqual(['SettledHandler.handle']));
      },
    });
    stop();
  });
});
