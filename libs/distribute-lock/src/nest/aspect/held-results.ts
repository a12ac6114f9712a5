import { finished, Readable } from 'node:stream';

import { StreamableFile } from '@nestjs/common';
import { isObservable, Observable, type Subscriber } from 'rxjs';

import { LockUsageError } from '../../errors.js';
import { runHolding } from '../../engine/lease/held-leases.js';
import type { Lease } from '../../engine/lease/lease.js';
import { throwIfLost } from '../../engine/lease/loss.js';
import type { ResolvedLockOptions } from '../../options/lock-options.js';
import type { CallScope } from './call-scope.js';

/** A lease that is held while the result of a method is read. */
export class Hold {
  private ending: Promise<void> | undefined;

  constructor(
    private readonly lease: Lease,
    private readonly options: ResolvedLockOptions,
    /** Label of the lock in messages. */
    readonly name: string,
    private readonly scope: CallScope | undefined,
  ) {}

  get ended(): boolean {
    return this.ending !== undefined;
  }

  /** Runs a part of the work as the holder and in the request of the call, because the reader may be outside both. */
  run<T>(work: () => T): T {
    const { scope } = this;
    return runHolding(this.lease, scope === undefined ? work : () => scope.run(work));
  }

  /** Releases the lock; further calls have no effect. Never rejects. */
  release(): Promise<void> {
    return (this.ending ??= this.lease.release());
  }

  /**
   * Releases the lock after successful work.
   * @throws LeaseLostError with `onLost: 'throw'` when the lease was lost, even if only the release detects it
   */
  async complete(): Promise<void> {
    if (this.ended) return;
    await this.release();
    throwIfLost(this.lease, this.options);
  }

  /**
   * Releases the lock if reading does not start within one `ttl`, as if the reader had crashed.
   * @param isRead - checked at that time, for results that do not report the start of reading
   * @returns cancels the timer
   */
  releaseUnlessRead(isRead = (): boolean => false): () => void {
    const timer = setTimeout(() => {
      if (!isRead()) void this.release();
    }, this.options.ttlMs);
    timer.unref();
    return () => clearTimeout(timer);
  }
}

/**
 * Counts the readers of a result. The call acquired the lock once: the last reader releases it, and later readers are rejected, because
 * the work would run unlocked.
 */
class ResultReaders {
  private count = 0;
  private readonly begun: () => void;

  constructor(private readonly hold: Hold) {
    this.begun = hold.releaseUnlessRead();
  }

  /** @throws LockUsageError when the lock has been released */
  checkInTime(): void {
    if (!this.hold.ended) return;
    throw new LockUsageError(`The result of ${this.hold.name} was read after its lock had been released.`);
  }

  /** Adds a reader. The returned function removes it, and calls `end` if it was the last one. */
  enter(): (end: () => Promise<void>) => Promise<void> {
    this.begun();
    this.count += 1;
    let reading = true;
    return async (end) => {
      if (!reading) return;
      reading = false;
      this.count -= 1;
      if (this.count === 0) await end();
    };
  }
}

type NodeStream = Parameters<typeof finished>[0];

/** Ties the release to the end of a result, and returns the result for the caller. */
export type ReleaseAfter = (hold: Hold) => unknown;

/**
 * Returns how to release after a result that is read later: an Observable, a stream, a file, an async iterable, or the body of a web
 * `Response`. Returns `undefined` for all other results.
 */
export function releaseAfterRead(result: unknown): ReleaseAfter | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  try {
    return ends(result);
  } catch {
    // A getter of the result threw; return the result unchanged.
    return undefined;
  }
}

function ends(result: object): ReleaseAfter | undefined {
  if (isObservable(result)) return (hold) => holdObservable(result, hold);
  if (result instanceof StreamableFile) return afterStream(result, result.getStream());
  if (isNodeStream(result)) return afterStream(result, result);
  const body = webBody(result);
  if (body === undefined && isAsyncIterable(result)) return (hold) => holdIterable(result, hold);
  return body;
}

function webBody(result: object): ReleaseAfter | undefined {
  switch ((result as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag]) {
    case 'ReadableStream':
      return afterStream(result, result as NodeStream);
    case 'Response': {
      const { body } = result as Response;
      return body === null ? undefined : afterStream(result, body as unknown as NodeStream);
    }
    default:
      return undefined;
  }
}

/** Returns the same object to the caller and only observes the end of its stream. */
function afterStream(result: object, stream: NodeStream): ReleaseAfter {
  return (hold) => {
    try {
      const read = isUnread(stream) ? hold.releaseUnlessRead(() => !isUnread(stream)) : undefined;
      // The caller reads a duplex stream, so its readable end decides.
      finished(stream, { writable: !isReadable(stream) }, () => {
        read?.();
        void hold.release();
      });
    } catch {
      // Not a stream of Node, for example a polyfill.
      void hold.release();
    }
    return result;
  };
}

function isNodeStream(value: object): value is NodeStream {
  const { pipe, on, read, write } = value as Record<'pipe' | 'on' | 'read' | 'write', unknown>;
  const flows = typeof read === 'function' || typeof write === 'function';
  return flows && typeof pipe === 'function' && typeof on === 'function';
}

function isReadable(stream: NodeStream): boolean {
  const { read, getReader } = stream as { read?: unknown; getReader?: unknown };
  return typeof read === 'function' || typeof getReader === 'function';
}

/** Whether reading has not started: such a stream never ends if the caller drops it. */
function isUnread(stream: NodeStream): boolean {
  const { locked, readableFlowing } = stream as { locked?: boolean; readableFlowing?: boolean | null };
  return (locked === false || readableFlowing === null) && !Readable.isDisturbed(stream as Readable);
}

/** Holds the lock until the Observable completes, fails or is unsubscribed. */
function holdObservable(source: Observable<unknown>, hold: Hold): Observable<unknown> {
  const readers = new ResultReaders(hold);
  return new Observable((subscriber) => {
    readers.checkInTime(); // the subscriber receives the error
    const leave = readers.enter();
    const inner = hold.run(() => source.subscribe(forward(subscriber, hold, leave)));
    return () => {
      inner.unsubscribe();
      void leave(() => hold.release());
    };
  });
}

function forward(subscriber: Subscriber<unknown>, hold: Hold, leave: ReturnType<ResultReaders['enter']>) {
  return {
    next: (value: unknown) => subscriber.next(value),
    error: (error: unknown) => void leave(() => hold.release()).then(() => subscriber.error(error)),
    complete: () =>
      void leave(() => hold.complete()).then(
        () => subscriber.complete(),
        (loss: unknown) => subscriber.error(loss),
      ),
  };
}

/**
 * Holds the lock until an async iterable has finished, failed or been closed by its reader. Its steps run as the holder, whichever call
 * requests them.
 */
function holdIterable(iterable: AsyncIterable<unknown>, hold: Hold): AsyncIterable<unknown> {
  const readers = new ResultReaders(hold);
  eachIterator(
    iterable,
    (iterator) => holdSteps(iterator, readers, hold),
    (make) => {
      readers.checkInTime();
      return hold.run(make);
    },
  );
  return iterable;
}

function holdSteps(iterator: AnyIterator, readers: ResultReaders, hold: Hold): void {
  // Iterators without `return()` do not report a reader that stops early.
  if (iterator.return === undefined) replace(iterator, 'return', async (value: unknown) => ({ done: true, value }));
  let leave: ReturnType<ResultReaders['enter']> | undefined;
  for (const name of ['next', 'return', 'throw'] as const) {
    const original = iterator[name];
    if (typeof original !== 'function') continue;
    const held = async (...given: unknown[]): Promise<IteratorResult<unknown, unknown>> => {
      // `return()` and `throw()` end a generator that has not started, without running it.
      if (leave === undefined && name === 'next') readers.checkInTime();
      leave ??= readers.enter();
      try {
        const result = await hold.run(
          () => Reflect.apply(original, iterator, given) as ReturnType<AnyIterator['next']>,
        );
        if (result.done === true) await leave(() => hold.complete());
        return result;
      } catch (error) {
        await leave(() => hold.release());
        throw error;
      }
    };
    replace(iterator, name, held);
  }
}

export type AnyIterator = AsyncIterator<unknown, unknown, unknown>;

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  try {
    // A frozen object cannot be instrumented.
    return typeof (value as AsyncIterable<unknown>)[Symbol.asyncIterator] === 'function' && Object.isExtensible(value);
  } catch {
    return false; // a getter threw
  }
}

/**
 * Calls `prepare` with each iterator before it is read. Modifies the iterable in place.
 * @param open - creates the iterator of a reader
 */
export function eachIterator(
  iterable: AsyncIterable<unknown>,
  prepare: (iterator: AnyIterator) => void,
  open: (make: () => AnyIterator) => AnyIterator = (make) => make(),
): void {
  if (isGenerator(iterable)) {
    prepare(iterable);
    return;
  }
  const original = iterable[Symbol.asyncIterator];
  replace(iterable, Symbol.asyncIterator, () => {
    const iterator = open(() => Reflect.apply(original, iterable, []));
    prepare(iterator);
    return iterator;
  });
}

/** Replaces a method of one object; its class does not change. */
export function replace(target: object, name: PropertyKey, value: Function): void {
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
}

/** Whether the iterable is its own iterator. Database cursors also have `next()`, but no `return()`, and `next()` resolves with a row. */
function isGenerator(
  value: AsyncIterable<unknown> & Partial<AnyIterator>,
): value is AsyncIterable<unknown> & AnyIterator {
  return typeof value.next === 'function' && typeof value.return === 'function';
}
