import { jest } from '@jest/globals';

import type { Lease } from '../engine/lease/lease.js';
import { type AcquireOptions, LOCK_DEFAULTS } from '../options/lock-options.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { LockService } from './lock.service.js';

/** A value from a caller without types. */
type Anything = never;

describe('LockService', () => {
  const lease = { release: async () => undefined } as Lease;
  const acquire = jest.fn(async () => lease);
  const locks = new LockService(() => ({ defaults: LOCK_DEFAULTS, acquire }) as unknown as LockEngine);
  beforeEach(() => void jest.clearAllMocks());
  afterEach(() => expect(acquire).not.toHaveBeenCalled());

  it.each([
    ['a name that does not exist', { tll: '5s' }, 'Option "tll" is not known. Known options: ttl, wait,'],
    ['a name of the decorator', { onContended: 'skip' }, 'Option "onContended" is not known'],
    ['a string', '5s', 'The options are "5s", but they must be an object.'],
    ['null', null, 'The options are null, but they must be an object.'],
  ])('rejects options that it would otherwise ignore: %s', async (_what, options, message) => {
    const refused = { code: 'LOCK_CONFIGURATION', message: expect.stringContaining(message) as string };
    const work = jest.fn<() => void>();
    await expect(locks.acquire('k', options as Anything)).rejects.toMatchObject(refused);
    await expect(locks.withLock('k', options as Anything, work)).rejects.toMatchObject(refused);
    expect(work).not.toHaveBeenCalled();
  });

  it.each([{}, new String('order'), new Set(['a']), null, undefined, 7])(
    'rejects a value that is neither a key nor a list of keys (%#)',
    async (key) => {
      const refused = {
        code: 'LOCK_KEY',
        message: expect.stringMatching(/^The key given to LockService\.\w+ is /) as string,
      };
      await expect(locks.acquire(key as Anything)).rejects.toMatchObject(refused);
      await expect(locks.tryAcquire(key as Anything)).rejects.toMatchObject(refused);
      await expect(locks.withLock(key as Anything, () => 'ran')).rejects.toMatchObject(refused);
    },
  );

  it('rejects work that is no function', async () => {
    const message = expect.stringContaining('was called without a function as its work') as string;
    const refused = { code: 'LOCK_CONFIGURATION', message };
    await expect(locks.withLock('k', {}, undefined as Anything)).rejects.toMatchObject(refused);
    await expect(locks.withLock('k', undefined as Anything)).rejects.toMatchObject(refused);
    await expect(locks.onceAt('k', new Date(), undefined as Anything)).rejects.toMatchObject(refused);
    expect(() => locks.lead('k', undefined as Anything)).toThrow(expect.objectContaining(refused));
  });

  it('rejects a key with a placeholder of templates, which it does not fill', async () => {
    const refused = {
      code: 'LOCK_KEY',
      source: 'code',
      message: expect.stringContaining('"#{"') as string,
    };
    await expect(locks.acquire('m_#{body.x}')).rejects.toMatchObject(refused);
    await expect(locks.acquire(['a', 'm_#{body.x}'])).rejects.toMatchObject(refused);
    await expect(locks.tryAcquire('m_#{body.x}')).rejects.toMatchObject(refused);
    await expect(locks.withLock('m_#{body.x}', () => 'ran')).rejects.toMatchObject(refused);
    await expect(locks.inspect('m_#{body.x}')).rejects.toMatchObject(refused);
    await expect(locks.forceRelease('m_#{body.x}')).rejects.toMatchObject(refused);
  });
});

describe('LockService.acquire', () => {
  it('accepts every option of a call', async () => {
    const acquire = jest.fn(async () => ({}) as Lease);
    const locks = new LockService(() => ({ defaults: LOCK_DEFAULTS, acquire }) as unknown as LockEngine, {
      presets: new Map([['checkout', LOCK_DEFAULTS]]),
    });
    const options: Required<AcquireOptions> = {
      ...{ ttl: '5s', wait: 1, renew: true, maxHold: '1m', minHold: 0, fair: 'process', reentrant: false },
      ...{ kind: 'semaphore', permits: 2, weight: 1, release: 'end', onLost: 'signal' },
      name: 'reserve stock',
      preset: 'checkout',
      signal: new AbortController().signal,
    };
    await locks.acquire('k', options);
    expect(acquire).toHaveBeenCalledTimes(1);
  });
});
