import { LockConfigurationError } from '../errors.js';
import { LOCK_DEFAULTS, type LockOptions, resolveLockOptions } from './lock-options.js';

describe('resolveLockOptions', () => {
  it('returns the defaults for missing options', () => {
    expect(resolveLockOptions({})).toEqual(LOCK_DEFAULTS);
    expect(resolveLockOptions({ ttl: undefined })).toEqual(LOCK_DEFAULTS);
  });

  it('parses durations, and the call overrides the module', () => {
    const module = resolveLockOptions({ ttl: '10s', wait: 250, onLost: 'throw' });
    const call = resolveLockOptions({ ttl: '1.5s', fair: 'strict' }, module);
    expect(call).toMatchObject({ ttlMs: 1_500, waitMs: 250, onLost: 'throw', fair: 'strict' });
    expect(Object.isFrozen(call)).toBe(true);
  });

  const noPrototype = Object.create(null) as object;

  it.each([0, -1, 49, NaN, Infinity, 50.5, 2 ** 31, 'abc', '', '10', null, {}, noPrototype, [], true, '10 parsecs'])(
    'rejects ttl %p and names the option',
    (ttl) => {
      const act = () => resolveLockOptions({ ttl } as LockOptions);
      expect(act).toThrow(LockConfigurationError);
      expect(act).toThrow(/"ttl"/);
    },
  );

  it.each([-1, NaN, Infinity, 0.5, 2 ** 31, 'soon', null])('rejects %p as wait, maxHold and minHold', (value) => {
    for (const option of ['wait', 'maxHold', 'minHold']) {
      expect(() => resolveLockOptions({ [option]: value })).toThrow(new RegExp(`"${option}"`));
    }
  });

  it.each([{ renew: 'yes' }, { fair: 'fifo' }, { onLost: 'ignore' }, { kind: 'mutex' }, { release: 'never' }])(
    'rejects %p',
    (options) => {
      expect(() => resolveLockOptions(options as unknown as LockOptions)).toThrow(LockConfigurationError);
    },
  );

  it('accepts permits and weight for a semaphore only', () => {
    const semaphore = resolveLockOptions({ kind: 'semaphore', permits: 5, weight: 2 });
    expect(semaphore).toMatchObject({ kind: 'semaphore', permits: 5, weight: 2 });
    expect(resolveLockOptions({ kind: 'read' }, semaphore)).toMatchObject({ kind: 'read', permits: 0, weight: 1 });
    expect(() => resolveLockOptions({ kind: 'semaphore' })).toThrow(/"permits" is missing/);
    expect(() => resolveLockOptions({ permits: 5 })).toThrow(/"permits" and "weight" belong to/);
    expect(() => resolveLockOptions({ kind: 'semaphore', permits: 2, weight: 3 })).toThrow(
      /"weight" \(3\).*"permits" \(2\)/,
    );
  });

  it.each([0, -1, 1.5, 1_025, NaN, Infinity, '5', null])('rejects %p as permits and weight', (value) => {
    for (const option of ['permits', 'weight']) {
      const options = { kind: 'semaphore', permits: 5, [option]: value } as unknown as LockOptions;
      expect(() => resolveLockOptions(options)).toThrow(new RegExp(`"${option}"`));
    }
  });

  const others: Required<LockOptions> = {
    ...{ ttl: '7s', wait: 1, renew: false, maxHold: '8s', minHold: 2, fair: 'strict', reentrant: true },
    ...{ kind: 'semaphore', permits: 9, weight: 3, release: 'expire', onLost: 'throw' },
  };

  it.each(Object.entries(others))('reads %s from each call, even if all other options repeat', (option, value) => {
    const common = { kind: 'semaphore', permits: 4 } as const;
    const before = resolveLockOptions(common);
    const after = resolveLockOptions({ ...common, [option]: value });
    const differs = option !== 'kind';
    expect(JSON.stringify(after) !== JSON.stringify(before)).toBe(differs);
    expect(after === before).toBe(!differs);
  });

  it('rejects options that contradict each other', () => {
    expect(() => resolveLockOptions({ minHold: '2s', maxHold: '1s' })).toThrow(/"minHold" \(2000 ms\).*"maxHold"/);
    expect(() => resolveLockOptions({ minHold: '40s', renew: false })).toThrow(/"minHold".*"ttl"/);
    expect(() => resolveLockOptions({ maxHold: 0 })).toThrow(/"maxHold"/);
  });
});
