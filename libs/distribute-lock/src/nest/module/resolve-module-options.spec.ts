import type { LockModuleOptions } from './lock-module-options.js';
import { resolveModuleOptions } from './resolve-module-options.js';

const resolve = (options: object) => resolveModuleOptions({ connection: 'memory', ...options });

describe('resolveModuleOptions', () => {
  it('fills in the defaults', () => {
    expect(resolve({})).toEqual({
      connections: new Map([['default', 'memory']]),
      credentials: undefined,
      prefix: 'lock:',
      connectOnBoot: true,
      drainTimeoutMs: 2000,
      maxWaitersPerKey: 10_000,
      maxWaiters: 100_000,
      maxKept: 10_000,
      contendedStatus: 409,
      retryAfter: undefined,
      layout: 'auto',
      serverMayChange: false,
      abortOnDisconnect: true,
      warnAfterMs: 60_000,
      errors: {},
      presets: new Map(),
      defaults: expect.objectContaining({ ttlMs: 30_000, waitMs: 0, renew: true }) as object,
    });
  });

  it('reads every option', () => {
    const options = {
      connections: { reports: 'redis://a' },
      prefix: 'app:',
      connectOnBoot: false,
      drainTimeout: '5s',
      maxWaiters: { perKey: 5, total: 7 },
      maxKept: 20,
      contendedStatus: 423,
      errors: { LOCK_CONTENDED: Error },
      presets: new Map(),
      defaults: { ttl: '1m', onLost: 'throw' },
    };
    expect(resolve(options)).toMatchObject({
      connections: new Map([
        ['default', 'memory'],
        ['reports', 'redis://a'],
      ]),
      prefix: 'app:',
      connectOnBoot: false,
      drainTimeoutMs: 5000,
      maxWaitersPerKey: 5,
      maxWaiters: 7,
      maxKept: 20,
      contendedStatus: 423,
      errors: { LOCK_CONTENDED: Error },
      presets: new Map(),
      defaults: { ttlMs: 60_000, onLost: 'throw' },
    });
    expect(resolve({ maxWaiters: 3 })).toMatchObject({ maxWaitersPerKey: 3, maxWaiters: 100_000 });
    expect(resolve({ maxWaiters: 200_000 })).toMatchObject({ maxWaitersPerKey: 200_000, maxWaiters: 400_000 });
    expect(resolve({ maxWaiters: { total: 500 } })).toMatchObject({ maxWaitersPerKey: 250, maxWaiters: 500 });
    expect(resolve({ maxWaiters: { perKey: 60_000 } })).toMatchObject({
      maxWaitersPerKey: 60_000,
      maxWaiters: 120_000,
    });
    expect(resolve({ durability: { replicas: 2 } })).toMatchObject({ durability: { replicas: 2, timeoutMs: 100 } });
    expect(resolve({ durability: { replicas: 1, timeout: '0.5s' } })).toMatchObject({
      durability: { replicas: 1, timeoutMs: 500 },
    });
    expect(resolve({ drainTimeout: 0 })).toMatchObject({ drainTimeoutMs: 0 });
  });

  it.each<[object, string]>([
    [{ durability: true }, '"durability" must be an object'],
    [{ durability: {} }, '"durability.replicas" is undefined'],
    [{ durability: { replicas: 0 } }, '"durability.replicas" is 0'],
    [{ durability: { replicas: 1, timeout: 0 } }, '"durability.timeout" is 0'],
    [{ durability: { replicas: 1, timeout: '1s' } }, 'must be at most 500 ms'],
    [{ durability: { replicas: 1, timeoutMs: 1 } }, 'durability.timeoutMs'],
    [{ ttl: '30s' }, '"ttl" is not known'],
    [{ defaults: { wiat: 1 } }, '"defaults.wiat" is not known'],
    [{ defaults: { ttl: 49 } }, '"ttl" is 49'],
    [{ defaults: null }, '"defaults" must be an object'],
    [{ prefix: '' }, '"prefix"'],
    [{ prefix: 42 }, '"prefix"'],
    [{ prefix: 'q:' }, '"prefix"'],
    [{ prefix: 'q:mine:' }, '"prefix"'],
    [{ prefix: 'f:' }, '"prefix"'],
    [{ prefix: 's' }, '"prefix"'],
    [{ prefix: 'sq' }, '"prefix"'],
    [{ prefix: 'sa1' }, '"prefix"'],
    [{ prefix: 'f1:mine:' }, '"prefix"'],
    [{ prefix: 'g27:' }, '"prefix"'],
    [{ connectOnBoot: 'no' }, '"connectOnBoot"'],
    [{ drainTimeout: -1 }, '"drainTimeout"'],
    [{ retryAfter: 0 }, '"retryAfter"'],
    [{ retryAfter: 'soon' }, '"retryAfter"'],
    [{ serverMayChange: 1 }, '"serverMayChange" is'],
    [{ credentials: { password: 'secret' } }, '"credentials" must be a function'],
    [{ layout: 'cluster' }, '"layout" is "cluster", but it must be one of "auto", "slot", "single"'],
    [{ abortOnDisconnect: 1 }, '"abortOnDisconnect" is 1'],
    [{ warnAfter: -1 }, '"warnAfter"'],
    [{ drainTimeout: 'soon' }, '"drainTimeout"'],
    [{ drainTimeout: null }, '"drainTimeout"'],
    [{ maxWaiters: 0 }, '"maxWaiters"'],
    [{ maxWaiters: 1.5 }, '"maxWaiters"'],
    [{ maxWaiters: '10' }, '"maxWaiters" must be an object'],
    [{ maxWaiters: { perKey: -1 } }, '"maxWaiters.perKey"'],
    [{ maxWaiters: { total: NaN } }, '"maxWaiters.total"'],
    [{ maxWaiters: { perKey: 10, total: 10 } }, '"maxWaiters.perKey" is 10, but it must be less than'],
    [{ maxKept: 0 }, '"maxKept"'],
    [{ maxWaiters: { all: 1 } }, '"maxWaiters.all" is not known'],
    [{ contendedStatus: 200 }, '"contendedStatus"'],
    [{ contendedStatus: 500 }, '"contendedStatus" is 500, but it must be 503 or'],
    [{ contendedStatus: '409' }, '"contendedStatus"'],
    [{ errors: [] }, '"errors" must be an object'],
    [{ errors: { LOCK_CONTENTED: Error } }, '"errors.LOCK_CONTENTED" is not known'],
    [{ errors: { LOCK_CONTENDED: 409 } }, '"errors.LOCK_CONTENDED" is 409'],
    [{ connections: [] }, '"connections" must be an object'],
    [{ connections: { default: 'memory' } }, '"connections" cannot use the name "default"'],
    [{ connections: { '': 'memory' } }, '"connections" cannot use the name ""'],
  ])('rejects %j', (options, message) => {
    expect(() => resolve(options)).toThrow(message);
    expect(() => resolve(options)).toThrow(expect.objectContaining({ code: 'LOCK_CONFIGURATION' }));
  });

  it.each([[undefined], [null], ['memory'], [[]]])('rejects %p instead of options', (options) => {
    expect(() => resolveModuleOptions(options as unknown as LockModuleOptions)).toThrow(
      'options of LockModule must be an object',
    );
  });
});
