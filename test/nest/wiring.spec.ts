import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { jest } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Logger, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WebSocketGateway } from '@nestjs/websockets';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  CurrentLease,
  DistributeLock,
  InjectLockService,
  isLockError,
  type Lease,
  LockInterceptor,
  LockModule,
  type LockModuleOptions,
  LockService,
  lockServiceToken,
} from 'nestjs-distribute-lock';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { RecordingStore } from './support/recording-store.js';

@Injectable()
class Reports {
  ran = 0;

  @DistributeLock({ key: 'report' })
  async write(): Promise<number> {
    return (this.ran += 1);
  }

  @DistributeLock({ key: 'pages' })
  async *pages(): AsyncGenerator<number> {
    yield (this.ran += 1);
  }
}

const open: TestingModule[] = [];

async function start(
  options: LockModuleOptions | undefined,
  providers: Parameters<typeof Test.createTestingModule>[0]['providers'] = [],
  more: Parameters<typeof Test.createTestingModule>[0] = {},
): Promise<TestingModule> {
  const imports = options === undefined ? [] : [LockModule.forRoot(options)];
  const builder = Test.createTestingModule({ ...more, imports: [...imports, ...(more.imports ?? [])], providers });
  const module = await builder.compile();
  module.useLogger(false);
  open.push(module);
  return module.init();
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('did not fail');
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((module) => module.close()));
});

describe('a locked method', () => {
  it('keeps the application from starting without access to its lock, with advice', async () => {
    const message = /LockModule\.forRoot\(\) is missing \(in a test LockTestingModule\.forRoot\(\)\): @DistributeLock/;
    expect((await failure(start(undefined, [Reports]))).message).toMatch(message);

    @Controller()
    class Handlers {
      @Get()
      @DistributeLock({ key: 'a' })
      async get(): Promise<void> {}
    }
    expect((await failure(start(undefined, [], { controllers: [Handlers] }))).message).toMatch(message);
  });

  it('does not run on an instance that Nest did not create', async () => {
    const reports = new Reports();
    expect(isLockError(await failure(reports.write()), 'LOCK_CONFIGURATION')).toBe(true);
    expect(isLockError(await failure(reports.pages().next()), 'LOCK_CONFIGURATION')).toBe(true);
    const write = Reflect.get(reports, 'write');
    expect((await failure(write())).message).toContain('Reports.write');
    expect(reports.ran).toBe(0);
  });

  it('has access to its lock in instances from factories and values', async () => {
    const store = new RecordingStore();
    const value = new Reports();
    const module = await start({ connection: store }, [
      { provide: 'value', useValue: value },
      { provide: 'factory', useFactory: () => new Reports() },
      { provide: 'late', useFactory: async () => new Reports() },
      { provide: 'alias', useExisting: 'value' },
    ]);
    for (const token of ['value', 'factory', 'late', 'alias']) {
      expect(await module.get<Reports>(token).write()).toBeGreaterThan(0);
    }
    expect(store.commands.filter((line) => line === 'acquire report')).toHaveLength(4);
    expect(Object.keys(value)).toEqual(['ran']);
  });

  it('has access to its lock in every scope, and in subclasses with additional injected properties', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest extends Reports {}

    @Injectable({ scope: Scope.TRANSIENT })
    class Transient extends Reports {}

    @Injectable()
    class Richer extends Reports {
      @Inject('suffix') readonly suffix!: string;

      constructor(readonly locks: LockService) {
        super();
      }
    }
    const store = new RecordingStore();
    const module = await start({ connection: store }, [
      PerRequest,
      Transient,
      Richer,
      { provide: 'suffix', useValue: '!' },
    ]);
    await (await module.resolve(PerRequest)).write();
    await (await module.resolve(Transient)).write();
    await module.get(Richer).write();
    expect(store.commands.filter((line) => line === 'acquire report')).toHaveLength(3);
    expect(module.get(Richer).suffix).toBe('!');
  });

  it('has access to its lock in a value that an earlier application used, too', async () => {
    const value = new Reports();
    const provider = { provide: 'value', useValue: value };
    const [one, other] = [new RecordingStore(), new RecordingStore()];
    const first = await start({ connection: one }, [provider]);
    await value.write();
    await first.close();
    await start({ connection: other }, [provider]);
    expect(await value.write()).toBe(2);
    expect([one, other].map(({ commands }) => commands.includes('acquire report'))).toEqual([true, true]);
  });

  it('uses the LockModule of its application', async () => {
    const [one, other] = [new RecordingStore(), new RecordingStore()];
    const [first, second] = [
      await start({ connection: one }, [Reports]),
      await start({ connection: other }, [Reports]),
    ];
    await first.get(Reports).write();
    expect([one.commands.length > 0, other.commands.length]).toEqual([true, 0]);
    await second.get(Reports).write();
    expect(other.commands.length).toBeGreaterThan(0);
  });
});

describe('the check of all providers at start', () => {
  it('rejects options that only the module can check, and names class and method', async () => {
    class Wrong {
      @DistributeLock({ key: 'a', minHold: '1m' })
      async work(): Promise<void> {}
    }
    class Elsewhere {
      @DistributeLock({ key: 'a', connectionName: 'nowhere' })
      async work(): Promise<void> {}
    }
    class NoLock {
      async work(@CurrentLease() _lease?: Lease): Promise<void> {}
    }
    const options = { connection: new RecordingStore(), defaults: { maxHold: '30s' } } as const;
    expect((await failure(start(options, [Wrong]))).message).toMatch(
      /Wrong\.work.*"minHold" \(60000 ms\) is above "maxHold"/,
    );
    expect((await failure(start(options, [Elsewhere]))).message).toMatch(/Elsewhere\.work.*"nowhere"/);
    expect((await failure(start(options, [NoLock]))).message).toMatch(/NoLock\.work.*no @DistributeLock/);
    expect(options.connection.connected).toBe(0);
  });

  it('ignores values of any form', async () => {
    const withoutConstructor: unknown = Object.create(Object.create(null) as object);
    const values = [withoutConstructor, Object.create(null), Object.freeze([]), null, 0, () => undefined];
    const providers = values.map((useValue, index) => ({ provide: `value ${index}`, useValue }));
    const module = await start({ connection: new RecordingStore() }, providers);
    expect(module.get('value 0')).toBe(withoutConstructor);
  });

  it('warns of an override that lost the decorator', async () => {
    class Unlocked extends Reports {
      override async write(): Promise<number> {
        return -1;
      }
    }
    class Relocked extends Reports {
      @DistributeLock({ key: 'again' })
      override async write(): Promise<number> {
        return -2;
      }
    }
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await start({ connection: new RecordingStore() }, [Unlocked, Relocked]);
    expect(warn.mock.calls.flat().filter((text) => String(text).includes('overrides'))).toEqual([
      expect.stringContaining('Unlocked.write overrides'),
    ]);
    warn.mockRestore();
  });

  it('warns of a locked hook of a gateway, whose error ends the process', async () => {
    @WebSocketGateway()
    class Gateway {
      @DistributeLock({ key: 'client' })
      async handleConnection(): Promise<void> {}

      @DistributeLock({ key: 'client', onContended: 'skip' })
      async handleDisconnect(): Promise<void> {}
    }
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await start({ connection: new RecordingStore() }, [Gateway]);
    expect(warn.mock.calls.flat().filter((text) => String(text).includes('Gateway'))).toEqual([
      expect.stringMatching(/^Gateway\.handleConnection .* ends the process.*onContended/),
    ]);
    warn.mockRestore();
  });
});

describe('LockModule', () => {
  it('may be imported once per application', async () => {
    const stores = [new RecordingStore(), new RecordingStore()];
    const second = LockModule.forRoot({ connection: stores[1] });
    const error = await failure(start({ connection: stores[0] }, [], { imports: [second] }));
    expect(isLockError(error, 'LOCK_CONFIGURATION') && error.message).toMatch(/forRoot\(\) is imported 2 times/);
    expect(stores.map(({ connected }) => connected)).toEqual([0, 0]);
  });

  it('may be imported again with equal options', async () => {
    const store = new RecordingStore();
    const useFactory = () => ({ connection: 'memory' });
    const modules = [
      () => LockModule.forRoot({ connection: store, defaults: { ttl: '30s' }, presets: { fast: { wait: 5 } } }),
      () => LockModule.forRootAsync({ inject: [], useFactory }),
    ];
    for (const module of modules) {
      @Module({ imports: [module()] })
      class Feature {}
      const app = await start(undefined, [Reports], { imports: [module(), Feature] });
      expect(await app.get(LockService).withLock('again', () => 'ran')).toBe('ran');
    }
    expect(store.connected).toBe(1);
  });

  it.each([
    { connection: 'memory', prefix: 'a:' },
    { connection: 'memory', connections: {} },
    { connection: 'memory', maxWaiters: 1 },
  ])('may not be imported again with other options: %j', async (other) => {
    const imports = [LockModule.forRoot({ connection: 'memory' }), LockModule.forRoot(other)];
    const error = await failure(start(undefined, [], { imports }));
    expect(isLockError(error, 'LOCK_CONFIGURATION') && error.message).toContain('pass the same options to each');
  });

  it('may be imported again as the same object', async () => {
    const once = LockModule.forRoot({ connection: new RecordingStore() });
    @Module({ imports: [once] })
    class Feature {}
    await start(undefined, [Reports], { imports: [once, Feature] });
  });

  it.each<[string, object, string]>([
    ['no connection', {}, '"connection" of LockModule is undefined'],
    ['an undefined connection', { connection: undefined }, 'Set the environment variable'],
    ['an empty connection', { connection: '' }, '"connection" of LockModule is empty'],
    ['a mistyped name', { connection: 'memory', conection: 1 }, '"conection" is not known'],
    ['a mistyped default', { connection: 'memory', defaults: { tll: 1 } }, '"defaults.tll" is not known'],
    ['a default out of range', { connection: 'memory', defaults: { ttl: 10 } }, '"ttl" is 10'],
    ['an empty prefix', { connection: 'memory', prefix: '' }, '"prefix"'],
  ])('refuses to start with %s', async (_what, options, message) => {
    const error = await failure(start(options as LockModuleOptions));
    expect(isLockError(error, 'LOCK_CONFIGURATION') && error.message).toContain(message);
  });

  it('accepts its options from factories, classes and existing providers', async () => {
    const store = new RecordingStore();
    @Injectable()
    class Config {
      createLockModuleOptions(): LockModuleOptions {
        return { connection: store };
      }
    }
    @Module({ providers: [Config], exports: [Config] })
    class ConfigModule {}
    const inject = [Config];
    for (const module of [
      LockModule.forRootAsync({ useFactory: async () => ({ connection: store }) }),
      LockModule.forRootAsync({
        imports: [ConfigModule],
        inject,
        useFactory: (config: Config) => config.createLockModuleOptions(),
      }),
      LockModule.forRootAsync({ useClass: Config }),
      LockModule.forRootAsync({ imports: [ConfigModule], useExisting: Config }),
    ]) {
      expect(await (await start(undefined, [Reports], { imports: [module] })).get(Reports).write()).toBe(1);
    }
    expect(() => LockModule.forRootAsync({})).toThrow('one of useFactory, useClass and useExisting');
    const withoutTypes = LockModule.forRootAsync as () => unknown;
    expect(() => withoutTypes()).toThrow('one of useFactory, useClass and useExisting');
    expect(() => LockModule.forRootAsync({ useClass: Config, useExisting: Config })).toThrow('one of');
  });

  it.each(['forRoot', 'forRootAsync'] as const)('serves several connections (%s)', async (way) => {
    const [main, reports] = [new RecordingStore(), new RecordingStore()];
    @Injectable()
    class Both {
      @InjectLockService() readonly own!: LockService;

      constructor(@InjectLockService('reports') readonly locks: LockService) {}

      @DistributeLock({ key: 'a', connectionName: 'reports' })
      async there(): Promise<void> {}
    }
    const options = { connection: main, connections: { reports } };
    const locks =
      way === 'forRoot' ? LockModule.forRoot(options) : LockModule.forRootAsync({ useFactory: () => options });
    const module = await start(undefined, [Both], { imports: [locks] });
    await module.get(Both).there();
    await module.get(Both).locks.withLock('b', async () => undefined);
    await module.get<LockService>(lockServiceToken('reports')).withLock('c', async () => undefined);
    expect(main.commands).toEqual([]);
    await module.get(Both).own.withLock('d', async () => undefined);
    expect(main.commands).toContain('acquire d');
    expect(reports.commands.filter((line) => line.startsWith('acquire'))).toEqual([
      'acquire a',
      'acquire b',
      'acquire c',
    ]);
    expect([main.connected, reports.connected]).toEqual([1, 1]);
  });

  it('opens twelve connections without a warning of Node', async () => {
    const warned: string[] = [];
    const warn = (warning: Error): unknown => warned.push(warning.message);
    process.on('warning', warn);
    onCleanup(() => void process.off('warning', warn));
    const port = await freePort();
    // Nothing listens there: the connections are opened, and opened again.
    const url = `redis://127.0.0.1:${port}`;
    const connections = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`other${i}`, url]));
    const locks = LockModule.forRoot({ connection: url, connections, connectOnBoot: false });
    const module = await start(undefined, [], { imports: [locks] });
    await module.close();
    expect(warned).toEqual([]);
  });

  it('does not start when a class injects an unknown connection, and other classes are not affected', async () => {
    class Lost {
      constructor(@InjectLockService('lost') readonly locks: LockService) {}
    }
    const options = { connection: new RecordingStore() };
    const error = await failure(start(options, [Lost]));
    expect(isLockError(error, 'LOCK_CONFIGURATION') && error.message).toContain('"lost"');
    const module = await start(options, [Reports]);
    const locks = module.get<LockService>(lockServiceToken('lost'));
    expect(isLockError(await failure(locks.acquire('a')), 'LOCK_CONFIGURATION')).toBe(true);
  });

  it('works in an application context without HTTP', async () => {
    @Module({ imports: [LockModule.forRoot({ connection: 'memory' })], providers: [Reports] })
    class App {}
    const context = await NestFactory.createApplicationContext(App, { logger: false });
    expect(await context.get(Reports).write()).toBe(1);
    expect(await context.get(LockService).withLock('a', async ({ key }) => key)).toBe('a');
    expect(context.get(LockInterceptor)).toBeInstanceOf(LockInterceptor);
    await context.close();
  });
});

describe('the life cycle of the connections', () => {
  it('connects at start, refuses and drains at shutdown, and closes last', async () => {
    const store = new RecordingStore();
    const module = await start({ connection: store }, [Reports]);
    expect(store.connected).toBe(1);
    const lease = await module.get(LockService).acquire('a');
    await Promise.all([module.close(), lease.release()]);
    expect(store.closed).toBe(1);
    await module.close();
    expect(store.closed).toBe(1);
    expect(isLockError(await failure(module.get(Reports).write()), 'LOCK_SHUTDOWN')).toBe(true);
  });

  it('lets running work finish at shutdown, and starts no more', async () => {
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    @Injectable()
    class Slow {
      @DistributeLock({ key: 'slow' })
      async work(): Promise<void> {
        await finished;
      }

      @DistributeLock({ key: 'slow', wait: '10s' })
      async later(): Promise<void> {}
    }
    const store = new RecordingStore();
    const module = await start({ connection: store }, [Slow]);
    const running = module.get(Slow).work();
    await eventually(() => expect(store.held.has('slow')).toBe(true));
    const waiting = failure(module.get(Slow).later());
    const closing = module.close();
    expect(isLockError(await waiting, 'LOCK_SHUTDOWN')).toBe(true);
    expect(isLockError(await failure(module.get(Slow).work()), 'LOCK_SHUTDOWN')).toBe(true);
    await delay(50);
    // Real time: on a slow machine an early close would only be found less often.
    expect([store.held.has('slow'), store.closed]).toEqual([true, 0]);
    finish();
    await Promise.all([running, closing]);
    expect([store.held.has('slow'), store.closed]).toEqual([false, 1]);
  });

  it('closes the connections that it opened when another connection fails at start', async () => {
    class Unreachable extends RecordingStore {
      override async connect(): Promise<void> {
        throw new Error('unreachable');
      }
    }
    const [main, reports] = [new RecordingStore(), new Unreachable()];
    const error = await failure(start({ connection: main, connections: { reports } }));
    expect(error.message).toMatch(/"connections\.reports" of LockModule cannot be used: unreachable/);
    expect([main.connected, main.closed, reports.closed]).toEqual([1, 1, 1]);
  });

  it('does not start without its connection, and shows no password', async () => {
    const unused = createServer();
    await new Promise<void>((resolve) => unused.listen(0, '127.0.0.1', resolve));
    const { port } = unused.address() as { port: number };
    await new Promise((resolve) => unused.close(resolve));
    const connection = `redis://user:hunter2@127.0.0.1:${port}`;

    const error = await failure(start({ connection }));
    expect(isLockError(error, 'LOCK_UNAVAILABLE')).toBe(true);
    expect(error.message).toMatch(/"connection" of LockModule cannot be used.*"connectOnBoot"/);
    expect(`${error.message}${String(error.cause)}${error.stack ?? ''}`).not.toContain('hunter2');

    await start({ connection, connectOnBoot: false });
  });
});
