import { Inject, Injectable, type Provider, Scope } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  currentLease,
  DistributeLock,
  isLockError,
  LockModule,
  type LockModuleOptions,
  type LockOptions,
  LockService,
} from 'nestjs-distribute-lock';

const PRESETS = {
  checkout: { ttl: '7s', wait: '2s' },
  report: { ttl: '40s', kind: 'semaphore', permits: 2 },
} as const;

const open: TestingModule[] = [];

async function start(options: Partial<LockModuleOptions>, providers: Provider[]): Promise<TestingModule> {
  const imports = [LockModule.forRoot({ connection: 'memory', ...options })];
  const module = await Test.createTestingModule({ imports, providers }).compile();
  module.useLogger(false);
  open.push(module);
  return module.init();
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((module) => module.close()));
});

const refused = (message: RegExp) =>
  expect.objectContaining({ code: 'LOCK_CONFIGURATION', message: expect.stringMatching(message) as string }) as Error;

/** The `ttl` of the running call in seconds. */
const ttlNow = (): number => Math.round(currentLease().remainingMs() / 1_000);

describe('presets of the module', () => {
  @Injectable()
  class Orders {
    @DistributeLock({ preset: 'checkout', key: 'a' })
    async preset(): Promise<number> {
      return ttlNow();
    }

    @DistributeLock({ preset: 'checkout', key: 'b', ttl: '3s' })
    async overridden(): Promise<number> {
      return ttlNow();
    }

    @DistributeLock({ preset: 'report', key: 'c' })
    async semaphore(inner?: () => Promise<number>): Promise<number> {
      return (await inner?.()) ?? ttlNow();
    }
  }

  it('stand between the options of the decorator and the defaults of the module', async () => {
    const orders = (await start({ presets: PRESETS, defaults: { ttl: '11s' } }, [Orders])).get(Orders);
    expect([await orders.preset(), await orders.overridden()]).toEqual([7, 3]);
    expect(await Promise.all([orders.semaphore(), orders.semaphore()])).toEqual([40, 40]);
  });

  it('wait as the preset says', async () => {
    const module = await start({ presets: PRESETS }, [Orders]);
    const lease = await module.get(LockService).acquire('a');
    const waiting = module.get(Orders).preset();
    await lease.release();
    expect(await waiting).toBe(7);
  });

  it('apply to calls of LockService', async () => {
    const locks = (await start({ presets: PRESETS, defaults: { ttl: '11s' } }, [])).get(LockService);
    expect(await locks.withLock('a', { preset: 'checkout' }, ttlNow)).toBe(7);
    expect(await locks.withLock('a', { preset: 'checkout', ttl: '3s' }, ttlNow)).toBe(3);
    expect(await locks.withLock('a', {}, ttlNow)).toBe(11);
    await expect(locks.acquire('a', { preset: 'chekout' })).rejects.toEqual(
      refused(
        /^Option "preset" is "chekout", but option "presets" does not contain it\. Its presets: checkout, report\.$/,
      ),
    );
  });

  it('are refused at start if they are wrong, unknown or contradict other options', async () => {
    await expect(start({ presets: { checkout: PRESETS.checkout } }, [Orders])).rejects.toEqual(
      refused(/Orders\.semaphore.*"preset" is "report".*Its presets: checkout\./),
    );
    await expect(start({}, [Orders])).rejects.toEqual(refused(/Orders\.preset.*Its presets: none\./));
    const wrong = (preset: object) => start({ presets: { x: preset } }, []);
    await expect(wrong({ tll: 1 })).rejects.toEqual(refused(/"presets\.x\.tll" is not known\. Known options: ttl/));
    await expect(wrong({ ttl: 1 })).rejects.toEqual(refused(/^Option "presets\.x": Option "ttl" is 1,/));
    await expect(wrong([])).rejects.toEqual(refused(/"presets\.x" must be an object/));
    await expect(start({ presets: [] as never }, [])).rejects.toEqual(refused(/"presets" must be an object/));

    class Contradicting {
      @DistributeLock({ preset: 'short', key: 'a', minHold: '5s' })
      async run(): Promise<void> {}
    }
    await expect(start({ presets: { short: { maxHold: '1s' } } }, [Contradicting])).rejects.toEqual(
      refused(/Contradicting\.run.*"minHold" \(5000 ms\) is above "maxHold"/),
    );
  });
});

describe('options by a function of the instance', () => {
  @Injectable()
  class Jobs {
    given: LockOptions = { ttl: '9s' };
    protected calls = 0;

    @DistributeLock({ key: 'a', ttl: '4s', wait: '1s', options: (jobs: Jobs) => (jobs.calls++, jobs.given) })
    async run(): Promise<[number, number]> {
      return [ttlNow(), this.calls];
    }

    @DistributeLock({
      key: 'c:#{arg0}',
      ttl: '4s',
      options: ({ given }: Jobs, _: string, ttl?: number) => ({ ...given, ttl }),
    })
    async ofCall(_tenant: string, _ttl?: number): Promise<number> {
      return ttlNow();
    }

    @DistributeLock({ key: 'b', kind: 'semaphore', options: () => ({ permits: 2 }) })
    async permits(): Promise<number> {
      return ttlNow();
    }
  }

  it('apply to each call, above the options of the decorator', async () => {
    const jobs = (await start({ defaults: { ttl: '11s' } }, [Jobs])).get(Jobs);
    expect(await jobs.run()).toEqual([9, 2]);
    jobs.given = { ttl: '6s' };
    expect(await jobs.run()).toEqual([6, 3]);
    jobs.given = {};
    expect((await jobs.run())[0]).toBe(4);
    jobs.given = { ttl: undefined };
    expect((await jobs.run())[0]).toBe(4);
    expect(await jobs.permits()).toBe(11);
  });

  it('are read from instances of each scope', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      constructor(@Inject('seconds') readonly seconds: number) {}

      @DistributeLock({ key: 'a', options: ({ seconds }: PerRequest) => ({ ttl: seconds * 1_000 }) })
      async run(): Promise<number> {
        return ttlNow();
      }
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient extends PerRequest {}
    const module = await start({}, [PerRequest, Transient, { provide: 'seconds', useValue: 13 }]);
    expect(await (await module.resolve(PerRequest)).run()).toBe(13);
    expect(await (await module.resolve(Transient)).run()).toBe(13);
  });

  it('are checked at start for singletons, and the connections are closed', async () => {
    class Wrong {
      @DistributeLock({ key: 'a', options: () => ({ ttl: 1 }) })
      async run(): Promise<void> {}
    }
    class Unknown {
      @DistributeLock({ key: 'a', options: () => ({ tll: 1 }) as LockOptions })
      async run(): Promise<void> {}
    }
    class Late {
      ttl: number | undefined;

      onModuleInit(): void {
        this.ttl = 5_000;
      }

      @DistributeLock({ key: 'a', options: ({ ttl }: Late) => ({ ttl: ttl! }) })
      async run(): Promise<number> {
        return ttlNow();
      }
    }
    class Throwing {
      @DistributeLock({
        key: 'a',
        options: () => {
          throw new Error('no configuration');
        },
      })
      async run(): Promise<void> {}
    }
    const promise: unknown = async () => ({ ttl: '5s' });
    class Promised {
      @DistributeLock({ key: 'a', options: promise as () => LockOptions })
      async run(): Promise<void> {}
    }
    await expect(start({}, [Promised])).rejects.toEqual(refused(/Promised\.run.*no promise/));
    await expect(start({}, [Wrong])).rejects.toEqual(refused(/Wrong\.run.*"ttl" is 1,/));
    await expect(start({}, [Unknown])).rejects.toEqual(refused(/Unknown\.run.*"tll" is not known/));
    await expect(start({}, [Throwing])).rejects.toEqual(
      refused(/Throwing\.run.*function in "options" threw: no configuration/),
    );
    expect(await (await start({}, [Late])).get(Late).run()).toBe(5);
  });

  it('come from the arguments of the call, and are not computed at start then', async () => {
    const jobs = (await start({}, [Jobs])).get(Jobs);
    expect(await jobs.ofCall('eu', 7_000)).toBe(7);
    expect(await jobs.ofCall('eu', 3_000)).toBe(3);
    const error: unknown = await jobs.ofCall('eu', -1).catch((cause: unknown) => cause);
    expect(isLockError(error, 'LOCK_CONFIGURATION') && error.message).toMatch(/Jobs\.ofCall.*"ttl" is -1/);
  });

  it('reject the call if they are wrong later', async () => {
    const jobs = (await start({}, [Jobs])).get(Jobs);
    jobs.given = { ttl: -1 };
    const error: unknown = await jobs.run().catch((cause: unknown) => cause);
    expect(isLockError(error, 'LOCK_CONFIGURATION') && error.message).toMatch(/Jobs\.run.*"ttl" is -1/);
  });

  it('are refused at import if they are not a function', () => {
    const decorate = () => {
      class Wrong {
        @(DistributeLock({ key: 'a', options: {} as never }) as MethodDecorator)
        async run(): Promise<void> {}
      }
      return Wrong;
    };
    expect(decorate).toThrow(refused(/Wrong\.run.*"options" must be a function/));
  });
});

describe('`this` in functions of the decorator', () => {
  it('is the instance', async () => {
    @Injectable()
    class Tenants {
      private readonly tenant = 'eu';

      @DistributeLock({
        key(this: Tenants, id: string) {
          return `${this.tenant}:${id}`;
        },
      })
      async run(_id: string): Promise<string> {
        return currentLease().key;
      }
    }
    expect(await (await start({}, [Tenants])).get(Tenants).run('7')).toBe('eu:7');
  });
});
