import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';

import type { LockDashboardOptions } from './dashboard-options.js';
import { LockDashboardModule } from './lock-dashboard.module.js';

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
