import { PassThrough, Readable } from 'node:stream';

import { jest } from '@jest/globals';
import { StreamableFile } from '@nestjs/common';

import { LeaseLostError } from '../../errors.js';
import { findCurrentLease } from '../../engine/lease/held-leases.js';
import type { Lease } from '../../engine/lease/lease.js';
import { LOCK_DEFAULTS } from '../../options/lock-options.js';
import { releaseAfterRead, Hold } from './held-results.js';

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

describe('Hold.complete', () => {
  const loss = new LeaseLostError('gone', { fencingToken: 7, reason: 'outage' });

  it('rejects at the end of a stream of results when the lease was lost', async () => {
    const { lease, controller, release } = newLease();
    async function* source() {
      yield 1;
      controller.abort(loss);
    }
    const generator = source();
    const hold = new Hold(lease, { ...LOCK_DEFAULTS, onLost: 'throw' }, 'k', undefined);
    expect(releaseAfterRead(generator)?.(hold)).toBe(generator);
    expect(await generator.next()).toEqual({ done: false, value: 1 });
    await expect(generator.next()).rejects.toBe(loss);
    expect(release).toHaveBeenCalledTimes(1);
  });
});

describe('releaseAfterRead', () => {
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
  ])('returns undefined for complete results (%#)', (result) => {
    expect(releaseAfterRead(result)).toBeUndefined();
  });

  it('releases when a stream has closed, with and without an error', async () => {
    for (const end of [
      (s: Readable) => s.resume(),
      (s: Readable) => s.destroy(),
      (s: Readable) => s.destroy(new Error('broken')),
    ]) {
      const { lease, release } = newLease();
      const stream = Readable.from(['a', 'b']);
      expect(releaseAfterRead(stream)?.(new Hold(lease, LOCK_DEFAULTS, 'k', undefined))).toBe(stream);
      expect(release).not.toHaveBeenCalled();
      end(stream);
      await new Promise((resolve) => setTimeout(resolve, 10));
      expect(release).toHaveBeenCalledTimes(1);
    }
  });

  it('releases at once for an object that only resembles a stream', () => {
    const { lease, release } = newLease();
    const result = { [Symbol.toStringTag]: 'ReadableStream' };
    expect(releaseAfterRead(result)?.(new Hold(lease, LOCK_DEFAULTS, 'k', undefined))).toBe(result);
    expect(release).toHaveBeenCalledTimes(1);
  });

  it('runs every step of a generator as the holder', async () => {
    const { lease } = newLease();
    const held: unknown[] = [];
    async function* source() {
      held.push(findCurrentLease());
      yield 1;
      held.push(findCurrentLease());
    }
    const generator = releaseAfterRead(source())?.(
      new Hold(lease, LOCK_DEFAULTS, 'k', undefined),
    ) as AsyncGenerator<number>;
    for await (const value of generator) expect(value).toBe(1);
    expect(held).toEqual([lease, lease]);
    expect(findCurrentLease()).toBeUndefined();
  });

  it('releases when a generator fails', async () => {
    const { lease, release } = newLease();
    // oxlint-disable-next-line require-yield
    async function* source(): AsyncGenerator<number> {
      throw new RangeError('mine');
    }
    const generator = releaseAfterRead(source())?.(
      new Hold(lease, LOCK_DEFAULTS, 'k', undefined),
    ) as AsyncGenerator<number>;
    await expect(generator.next()).rejects.toBeInstanceOf(RangeError);
    expect(release).toHaveBeenCalledTimes(1);
  });
});

describe('a result that is read in steps', () => {
  const options = { ...LOCK_DEFAULTS, ttlMs: 1000 };
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }));
  afterEach(() => void jest.useRealTimers());

  const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

  function held<T>(result: T) {
    const { lease, release } = newLease();
    expect(releaseAfterRead(result)?.(new Hold(lease, options, 'k', undefined))).toBe(result);
    return { result, release };
  }

  const webStream = () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(1));
      },
    });

  it.each([
    ['stream', () => Readable.from(['a', 'b'])],
    ['stream that is both', () => new PassThrough()],
    ['file', () => new StreamableFile(Readable.from(['a', 'b']))],
    ['web stream', webStream],
    ['web Response', () => new Response(webStream())],
    ['iterable', () => new Rows(['a'])],
  ])('releases the lock after one ttl when it is not read: a %s', async (_name, make: () => object) => {
    const { release } = held(make());
    await jest.advanceTimersByTimeAsync(999);
    expect(release).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(release).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['paused', (stream: Readable) => void stream.once('data', () => stream.pause())],
    ['asked for what is there', (stream: Readable) => void stream.on('readable', () => undefined)],
    ['piped to somebody slow', (stream: Readable) => void stream.pipe(new PassThrough({ highWaterMark: 1 }))],
  ])('holds the lock while it is read: a stream that is %s', async (_name, read) => {
    const { result, release } = held(Readable.from(Array.from({ length: 100 }, () => 'text')));
    read(result);
    await turn();
    await jest.advanceTimersByTimeAsync(5000);
    expect(release).not.toHaveBeenCalled();
    result.destroy();
    await turn();
    expect(release).toHaveBeenCalledTimes(1);
  });

  it('holds the lock while it is read: a web stream, also between its readers', async () => {
    const { result, release } = held(webStream());
    const reader = result.getReader();
    await reader.read();
    reader.releaseLock();
    await jest.advanceTimersByTimeAsync(5000);
    expect(release).not.toHaveBeenCalled();
    await result.cancel();
    await turn();
    expect(release).toHaveBeenCalledTimes(1);
  });

  it('holds the lock until all rows of a cursor have been read or its reader stops', async () => {
    for (const most of [1, 3]) {
      const { result, release } = held(new Rows(['a', 'b', 'c']));
      const read: string[] = [];
      for await (const row of result) {
        read.push(row);
        await jest.advanceTimersByTimeAsync(5000);
        expect(release).not.toHaveBeenCalled();
        if (read.length === most && most < 3) break;
      }
      expect(read).toEqual(['a', 'b', 'c'].slice(0, most));
      expect(release).toHaveBeenCalledTimes(1);
    }
  });

  it('does not change the rows that `next()` of a cursor returns', async () => {
    const { result } = held(new Rows(['a']));
    expect([await result.next(), await result.next()]).toEqual(['a', null]);
  });

  it('holds the lock until the last of several readers has finished', async () => {
    const { result, release } = held(new Rows(['a', 'b']));
    const [one, other] = [result[Symbol.asyncIterator](), result[Symbol.asyncIterator]()];
    await one.next();
    await other.next();
    await one.return(undefined);
    expect(release).not.toHaveBeenCalled();
    await other.return(undefined);
    expect(release).toHaveBeenCalledTimes(1);
  });

  it('detects that a reader stops an iterator without return()', async () => {
    const counter = { next: async () => ({ done: false, value: 1 }), [Symbol.asyncIterator]: () => counter };
    const { result, release } = held(counter as AsyncIterable<number>);
    for await (const value of result) if (value === 1) break;
    expect(release).toHaveBeenCalledTimes(1);
  });

  it('rejects a reader that starts after the release', async () => {
    const ran: string[] = [];
    const rows = async function* () {
      yield ran.push('ran');
    };
    const generator = held(rows()).result;
    const iterable = held({ [Symbol.asyncIterator]: rows }).result;
    await jest.advanceTimersByTimeAsync(1000);
    await expect(generator.next()).rejects.toMatchObject({ code: 'LOCK_USAGE' });
    expect(() => iterable[Symbol.asyncIterator]()).toThrow(
      'The result of k was read after its lock had been released.',
    );
    expect(await generator.return(undefined)).toEqual({ done: true, value: undefined });
    expect(await generator.next()).toEqual({ done: true, value: undefined });
    expect(ran).toEqual([]);
  });

  it('counts as complete if it cannot be instrumented', () => {
    expect(releaseAfterRead(Object.freeze(new Rows(['a'])))).toBeUndefined();
  });
});

/** Like a database cursor: it is iterable, and its own `next()` resolves with a row, or `null` at the end. */
class Rows {
  constructor(private readonly rows: string[]) {}

  async next(): Promise<string | null> {
    return this.rows.shift() ?? null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (let row = await this.next(); row !== null; row = await this.next()) yield row;
  }
}
