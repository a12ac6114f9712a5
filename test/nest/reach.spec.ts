import { type InjectionToken, Module, type Provider, Scope } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributeLock, LockModule, LockService, lockServiceToken } from 'nestjs-distribute-lock';

import { onCleanup } from '../support/cleanup.js';

class Reports {
  ran = 0;

  @DistributeLock({ key: 'report' })
  async write(): Promise<number> {
    return (this.ran += 1);
  }
}

const LAZY = 'lazy';

@Module({ providers: [{ provide: LAZY, useFactory: () => new Reports() }] })
class Lazy {}

async function start(providers: Provider[], imports = [LockModule.forRoot({ connection: 'memory' })]) {
  const module = await Test.createTestingModule({ imports, providers }).compile();
  await module.init();
  onCleanup(() => module.close());
  return module;
}

async function expectRefused(reports: Reports): Promise<void> {
  const refused = {
    code: 'LOCK_CONFIGURATION',
    message: expect.stringContaining('Reports.write did not run, because its object was created with new') as string,
  };
  await expect(reports.write()).rejects.toMatchObject(refused);
  expect(reports.ran).toBe(0);
}

describe('a locked method', () => {
  const factory = (scope: Scope): Provider => ({ provide: 'made', scope, useFactory: () => new Reports() });
  const resolved = (module: TestingModule) => module.resolve<Reports>('made');
  const lazy = async (module: TestingModule): Promise<Reports> => {
    const loaded = await module.get(LazyModuleLoader, { strict: false }).load(() => Lazy);
    return loaded.get<Reports>(LAZY);
  };

  it.each([
    ['a request-scoped factory', [factory(Scope.REQUEST)], resolved],
    ['a transient factory', [factory(Scope.TRANSIENT)], resolved],
    ['the factory of a module that is loaded lazily', [], lazy],
  ])('rejects without running on an instance from %s', async (_what, providers, made) => {
    await expectRefused(await made(await start(providers)));
  });

  it('rejects without running when LockModule is missing', async () => {
    const module = await start([{ provide: 'value', useValue: new Reports() }], []);
    await expectRefused(module.get<Reports>('value'));
  });
});

describe('the LockService of a named connection', () => {
  const asynchronous = (name: string) =>
    LockModule.forRootAsync({ useFactory: () => ({ connection: 'memory', connections: { [name]: 'memory' } }) });

  it('exists when its token was created before the application', async () => {
    const token = lockServiceToken('early') as InjectionToken<LockService>;
    const module = await start([], [asynchronous('early')]);
    expect(await module.get(token).withLock('a', () => 'ran')).toBe('ran');
  });

  it('is reported as missing, with the remedy, when forRootAsync was called too late', async () => {
    const module = await start([], [asynchronous('late')]);
    const ask = (): unknown => module.get(lockServiceToken('late') as InjectionToken);
    expect(ask).toThrow('Add connections.late to LockModule');
    expect(ask).toThrow('call lockServiceToken("late") before the application is created');
  });
});
