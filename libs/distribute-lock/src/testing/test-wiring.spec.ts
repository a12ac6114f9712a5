import { readFileSync } from 'node:fs';

import { jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { Observable } from 'rxjs';

import { isLockError } from '../errors.js';
import { DistributeLock } from '../nest/decorators/distribute-lock.decorator.js';
import { LockService } from '../nest/lock.service.js';
import { LockTestingModule } from './index.js';

@Injectable()
class Carrier {
  async handOver(id: string): Promise<string> {
    return `handed over ${id}`;
  }
}

@Injectable()
class Orders {
  constructor(readonly carrier: Carrier) {}

  @DistributeLock({ key: 'order:#{arg0}' })
  async ship(id: string): Promise<string> {
    return this.carrier.handOver(id);
  }

  @DistributeLock({ key: 'order:#{arg0}' })
  watch(id: string): Observable<string> {
    return new Observable((subscriber) => subscriber.next(id));
  }
}

@Injectable()
class Shop {
  constructor(readonly locks: LockService) {}
}

/** Like `createMock()` of @golevelup/ts-jest: every property is a function that returns another mock. */
function createMock(): object {
  const target = jest.fn();
  return new Proxy(target, {
    get: (_, name) => (name === 'then' ? undefined : name in target ? Reflect.get(target, name) : createMock()),
    apply: () => undefined,
  });
}

const failureOf = async (work: () => unknown): Promise<Error> => {
  try {
    await work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('did not fail');
};

/** The row of docs/reference/errors.md that contains the message. */
function rowOfReference(message: string): string | undefined {
  const reference = readFileSync(new URL('../../../../docs/reference/errors.md', import.meta.url), 'utf8');
  return reference.split('\n').find((line) => line.includes(message));
}

const KIT = 'LockTestingModule.forRoot()';

describe('A unit test of a class with a lock', () => {
  const providers = [Orders, Carrier];
  const builder = (imports: object[] = []): TestingModuleBuilder =>
    Test.createTestingModule({ imports: imports as never[], providers: [Orders] });

  it.each<[string, () => object]>([
    ['a mock of everything', () => createMock()],
    ['an empty object', () => ({})],
    ['an object with the method', () => ({ around: () => 'never ran' })],
  ])('fails instead of passing without the method: the aspect is %s', async (_what, mock) => {
    const module = await builder().useMocker(mock).compile();
    const error = await failureOf(() => module.get(Orders).ship('42'));
    expect(isLockError(error, 'LOCK_CONFIGURATION')).toBe(true);
    expect(error.message).toContain('Orders.ship did not run');
    expect(error.message).toContain('mock');
    expect(error.message).toContain(KIT);
    const watched = await failureOf(
      () => new Promise((_, reject) => module.get(Orders).watch('42').subscribe({ error: reject })),
    );
    expect(watched.message).toContain(KIT);
  });

  it('runs the method when only other dependencies are mocks', async () => {
    const carrier = { handOver: async () => 'mocked' };
    const module = await builder([LockTestingModule.forRoot()])
      .useMocker(() => carrier)
      .compile();
    expect(await module.get(Orders).ship('42')).toBe('mocked');
  });

  it('names the kit when LockModule is missing', async () => {
    const error = await failureOf(() => Test.createTestingModule({ providers }).compile());
    expect(error.message).toContain('LockModule.forRoot() is missing');
    expect(error.message).toContain(KIT);
  });

  it('names the kit when LockService is a provider without LockModule', async () => {
    const error = await failureOf(() => Test.createTestingModule({ providers: [LockService] }).compile());
    expect(error.message).toContain('LockModule.forRoot() is missing');
    expect(error.message).toContain(KIT);
  });

  it('has the message of Nest that the reference explains when LockService is not available', async () => {
    const error = await failureOf(() => Test.createTestingModule({ providers: [Shop] }).compile());
    expect(error.message).toMatch(/^Nest can't resolve dependencies of the Shop .*LockService/s);
    expect(rowOfReference("Nest can't resolve dependencies of ... LockService")).toContain(KIT);
  });

  it('has the message that the reference explains when a mock library needs a class for each token', async () => {
    // createMock(token) of @golevelup/ts-jest and @golevelup/ts-vitest
    const proxied = (token: unknown): object => new Proxy(token as object, {});
    const error = await failureOf(() => builder().useMocker(proxied).compile());
    expect(rowOfReference(`${error.name}: ${error.message}`)).toContain('createMock');
  });

  it('names the kit and the cause for an object that was created with new', async () => {
    const error = await failureOf(() => new Orders(new Carrier()).ship('42'));
    expect(isLockError(error, 'LOCK_CONFIGURATION')).toBe(true);
    expect(error.message).toMatch(/^Orders\.ship did not run, because its object was created with new/);
    expect(error.message).toContain(KIT);
  });

  it('names the cause for a method that is called without its object', async () => {
    const module = await Test.createTestingModule({ imports: [LockTestingModule.forRoot()], providers }).compile();
    const ship = Reflect.get(module.get(Orders), 'ship');
    const error = await failureOf(() => ship('42'));
    expect(error.message).toMatch(/^Orders\.ship did not run, because it was called without its object/);
  });
});
