import { jest } from '@jest/globals';
import { Readable } from 'node:stream';

import { LeaseLostError } from '../errors/lease-lost.error.js';
import { currentLease } from '../lease/held-leases.js';
import type { Lease } from '../lease/lease.js';
import { LOCK_DEFAULTS } from '../options/defaults.js';
import { Hold, lossOf } from './hold.js';
import { goesOn } from './release-after.js';

function newLease() {
  const controller = new AbortController();
  const release = jest.fn(async () => undefined);
  const lease = {
    key: 'k',
    fencingToken: 7,
    signal: controller.signal,
    isHeld: () => !controller.signal.aborted,
    release,
  } as unknown as Lease;
  return { lease, release, controller };
}

describe('a lost lease', () => {
  const loss = new LeaseLostError('gone', { fencingToken: 7 });

  it('ends the call only where that was asked for', () => {
    const { lease, controller } = newLease();
    expect(lossOf(lease, { ...LOCK_DEFAULTS, onLost: 'throw' }, 'k')).toBeUndefined();
    controller.abort(loss);
    expect(lossOf(lease, { ...LOCK_DEFAULTS, onLost: 'throw' }, 'k')).toBe(loss);
    expect(lossOf(lease, LOCK_DEFAULTS, 'k')).toBeUndefined();
  });

  it('is seen before the timer has told of it', () => {
    const lease = { ...newLease().lease, isHeld: () => false };
    expect(lossOf(lease, { ...LOCK_DEFAULTS, onLost: 'throw' }, 'k')).toMatchObject({
      code: 'LEASE_LOST',
      fencingToken: 7,
    });
  });

  it('ends what is handed out piece by piece, at its end', async () => {
    const { lease, controller, release } = newLease();
    async function* source() {
      yield 1;
      controller.abort(loss);
    }
    const generator = source();
    const hold = new Hold(lease, { ...LOCK_DEFAULTS, onLost: 'throw' }, 'k', undefined);
    expect(goesOn(generator)?.(hold)).toBe(generator);
    expect(await generator.next()).toEqual({ done: false, value: 1 });
    await expect(generator.next()).rejects.toBe(loss);
    expect(release).toHaveBeenCalledTimes(1);
  });
});

describe('goesOn', () => {
  const trap = new Proxy(
    {},
    {
      get: () => {
        throw new TypeError('do not touch');
      },
    },
  );

  it.each([
    undefined,
    null,
    0,
    'text',
    {},
    [],
    new Date(),
    new Map(),
    Buffer.from('a'),
    new Response(null),
    trap,
    { subscribe: 'x' },
    { pipe: 1 },
    { pipe() {}, on() {} },
    { [Symbol.asyncIterator]: 1 },
    { next: () => 1 },
  ])('finds results complete as they are (%#)', (result) => {
    expect(goesOn(result)).toBeUndefined();
  });

  it('releases once a stream has closed, however it ends', async () => {
    for (const end of [
      (s: Readable) => s.resume(),
      (s: Readable) => s.destroy(),
      (s: Readable) => s.destroy(new Error('broken')),
    ]) {
      const { lease, release } = newLease();
      const stream = Readable.from(['a', 'b']);
      expect(goesOn(stream)?.(new Hold(lease, LOCK_DEFAULTS, 'k', undefined))).toBe(stream);
      expect(release).not.toHaveBeenCalled();
      end(stream);
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(release).toHaveBeenCalledTimes(1);
    }
  });

  it('releases at once after what only looked like a stream', () => {
    const { lease, release } = newLease();
    const result = { [Symbol.toStringTag]: 'ReadableStream' };
    expect(goesOn(result)?.(new Hold(lease, LOCK_DEFAULTS, 'k', undefined))).toBe(result);
    expect(release).toHaveBeenCalledTimes(1);
  });

  it('runs every step of a generator as the holder', async () => {
    const { lease } = newLease();
    const held: unknown[] = [];
    async function* source() {
      held.push(currentLease());
      yield 1;
      held.push(currentLease());
    }
    const generator = goesOn(source())?.(new Hold(lease, LOCK_DEFAULTS, 'k', undefined)) as AsyncGenerator<number>;
    for await (const value of generator) expect(value).toBe(1);
    expect(held).toEqual([lease, lease]);
    expect(currentLease()).toBeUndefined();
  });

  it('releases when a generator fails', async () => {
    const { lease, release } = newLease();
    // oxlint-disable-next-line require-yield
    async function* source(): AsyncGenerator<number> {
      throw new RangeError('mine');
    }
    const generator = goesOn(source())?.(new Hold(lease, LOCK_DEFAULTS, 'k', undefined)) as AsyncGenerator<number>;
    await expect(generator.next()).rejects.toBeInstanceOf(RangeError);
    expect(release).toHaveBeenCalledTimes(1);
  });
});
