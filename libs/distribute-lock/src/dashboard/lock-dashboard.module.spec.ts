import { jest } from '@jest/globals';
import { Logger, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';

import { LockModule } from '../nest/module/lock.module.js';
import type { LockDashboardAsyncOptions, LockDashboardOptions } from './dashboard-options.js';
import { LockDashboardModule } from './lock-dashboard.module.js';
import { DASHBOARD_OPTIONS } from './lock-dashboard.js';

class Guard {
  canActivate(): boolean {
    return false;
  }
}

describe('LockDashboardModule.forRoot', () => {
  const controllers = (options: LockDashboardOptions) => LockDashboardModule.forRoot(options).controllers;

  afterEach(() => {
    delete process.env['NODE_ENV'];
    jest.restoreAllMocks();
  });

  it('serves the page with a guard', () => expect(controllers({ guard: Guard })).toHaveLength(1));

  it('serves the page on loopback outside of production only', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    expect(controllers({ guard: 'loopback' })).toHaveLength(1);
    process.env['NODE_ENV'] = 'production';
    expect(controllers({ guard: 'loopback' })).toEqual([]);
    expect(controllers({ guard: Guard })).toHaveLength(1);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('is not served'));
  });

  it.each<[object | undefined, string]>([
    [undefined, 'must be an object'],
    [{}, '"guard" of LockDashboardModule must be'],
    [{ guard: true }, '"guard" of LockDashboardModule must be'],
    [{ guard: Guard, path: '/locks' }, '"path" is "/locks"'],
    [{ guard: Guard, path: '' }, '"path" is ""'],
    [{ guard: Guard, instance: '' }, '"instance" must be'],
    [{ guard: Guard, showKeys: 'yes' }, '"showKeys"'],
    [{ guard: Guard, allowForceRelease: 1 }, '"allowForceRelease"'],
    [{ guard: Guard, showkeys: true }, '"showkeys" is not known'],
  ])('rejects %j', (options, message) => {
    expect(() => LockDashboardModule.forRoot(options as LockDashboardOptions)).toThrow(message);
  });
});

describe('LockDashboardModule.forRootAsync', () => {
  const labelOf = async (options: Omit<LockDashboardAsyncOptions, 'guard'>): Promise<unknown> => {
    const page = LockDashboardModule.forRootAsync({ guard: Guard, ...options });
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: 'memory' }), page],
    }).compile();
    return module.get<LockDashboardOptions>(DASHBOARD_OPTIONS, { strict: false });
  };

  it('takes settings from a factory with providers of its imports', async () => {
    @Module({ providers: [{ provide: 'label', useValue: 'one' }], exports: ['label'] })
    class Labels {}
    const useFactory = async (instance: string) => ({ instance, showKeys: true });
    expect(await labelOf({ imports: [Labels], inject: ['label'], useFactory, path: 'admin/locks' })).toEqual({
      ...{ guard: Guard, imports: [Labels], path: 'admin/locks' },
      ...{ instance: 'one', showKeys: true },
    });
  });

  it.each<[object, string]>([
    [{ instance: '' }, '"instance" must be'],
    [{ guard: Guard }, '"guard" is not known. Known options: instance, showKeys, allowForceRelease'],
    [{ path: 'a' }, '"path" is not known'],
  ])('rejects %j from the factory', async (settings, message) => {
    await expect(labelOf({ useFactory: () => settings })).rejects.toThrow(message);
  });

  it.each<[object | undefined, string]>([
    [undefined, '"useFactory" of LockDashboardModule must be a function'],
    [{ guard: Guard }, '"useFactory" of LockDashboardModule must be a function'],
    [{ useFactory: () => ({}) }, '"guard" of LockDashboardModule must be'],
    [{ guard: Guard, instance: 'a', useFactory: () => ({}) }, '"instance" is not known'],
  ])('rejects %j', (options, message) => {
    expect(() => LockDashboardModule.forRootAsync(options as LockDashboardAsyncOptions)).toThrow(message);
  });
});
