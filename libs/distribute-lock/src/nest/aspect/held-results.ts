import { finished, Readable } from 'node:stream';

import { StreamableFile } from '@nestjs/common';
import { isObservable, Observable, type Subscriber } from 'rxjs';

import { LockUsageError } from '../../errors.js';
import { runHolding } from '../../lease/held-leases.js';
import type { Lease } from '../../lease/lease.js';
import { throwIfLost } from '../../lease/on-lost.js';
import type { ResolvedLockOptions } from '../../options/lock-options.js';
import type { CallScope } from './call-scope.js';

/** A lease that lives on while the result of a method is being handed out. */
export class Hold {
  private ending: Promise<void> | undefined;

  constructor(
    private readonly lease: Lease,
    private readonly options: ResolvedLockOptions,
    /** What messages call the lock. */
    readonly name: string,
    private readonly scope: CallScope | undefined,
  ) {}

  get ended(): boolean {
    return this.ending !== undefined;
  }

  /** Runs a part of the work as the holder, and in the request of the call: whoever reads the result may be outside. */
  run<T>(work: () => T): T {
    const { scope } = this;
    return runHolding(this.lease, scope === undefined ? work : () => scope.run(work));
  }

  /** Gives the lock back; the first call counts. Never rejects. */
  release(): Promise<void> {
    return (this.ending ??= this.lease.release());
  }

  /**
   * Gives the lock back after work that ended well.
   * @throws LeaseLostError with `onLost: 'throw'`, when the lease was lost before, also when only the release finds that
   */
  async complete(): Promise<void> {
    if (this.ended) return;
    await this.release();
    throwIfLost(this.lease, this.options);
  }

  /**
   * Gives the lock back when nobody has begun to read the result within one ttl, as if the reader had crashed.
   * @param isRead - asked at that time, of what cannot tell when it is begun
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
 * Those who read what a method returned. The lock was taken once, for the call: the last reader to leave gives it back, and
 * whoever comes later is refused, because the work would run unlocked.
 */
class Readers {
  private count = 0;
  private readonly begun: () => void;

  constructor(private readonly hold: Hold) {
    this.begun = hold.releaseUnlessRead();
  }

  /** @throws LockUsageError when the lock has been given back */
  checkInTime(): void {
    if (!this.hold.ended) return;
    throw new LockUsageError(`What ${this.hold.name} returned was read after its lock had been given back.`);
  }

  /** One more reads, until it calls what this answers; `end` gives the lock back if nobody else reads. */
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

/** Ties the release to a result that goes on after the method has returned, and says what to hand out instead. */
export type ReleaseAfter = (hold: Hold) => unknown;

/**
 * How to release after a result that is not all there yet: an Observable, a stream, a file, an async generator or
 * another iterable, the body of a web `Response`. `undefined` for results that are complete as they are.
 */
export function goesOn(result: unknown): ReleaseAfter | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  try {
    return ends(result);
  } catch {
    // A getter of the user's object threw: whatever it is, it is the result.
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

/** The user gets the very object that the method returned; its end is only watched. */
function afterStream(result: object, stream: NodeStream): ReleaseAfter {
  return (hold) => {
    try {
      const read = isUnread(stream) ? hold.releaseUnlessRead(() => !isUnread(stream)) : undefined;
      // A stream that is both is given out to be read, so its reading end counts.
      finished(stream, { writable: !isReadable(stream) }, () => {
        read?.();
        void hold.release();
      });
    } catch {
      // It only looked like a stream, such as one of a polyfill.
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

/** Whether nobody has begun to read it, or said that he will: a stream that is dropped now never ends. */
function isUnread(stream: NodeStream): boolean {
  const { locked, readableFlowing } = stream as { locked?: boolean; readableFlowing?: boolean | null };
  return (locked === false || readableFlowing === null) && !Readable.isDisturbed(stream as Readable);
}

/** Keeps the lock until the Observable has completed, failed or been unsubscribed. */
function holdObservable(source: Observable<unknown>, hold: Hold): Observable<unknown> {
  const readers = new Readers(hold);
  return new Observable((subscriber) => {
    readers.checkInTime(); // what it throws is the subscriber's error
    const leave = readers.enter();
    const inner = hold.run(() => source.subscribe(forward(subscriber, hold, leave)));
    return () => {
      inner.unsubscribe();
      void leave(() => hold.release());
    };
  });
}

function forward(subscriber: Subscriber<unknown>, hold: Hold, leave: ReturnType<Readers['enter']>) {
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
 * Keeps the lock until a generator, or whatever else is read piece by piece, has finished, failed or been left. Its steps run
 * as the holder, whoever asks for them.
 */
function holdIterable(iterable: AsyncIterable<unknown>, hold: Hold): AsyncIterable<unknown> {
  const readers = new Readers(hold);
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

function holdSteps(iterator: AnyIterator, readers: Readers, hold: Hold): void {
  // Without it nobody would hear of a reader who leaves.
  if (iterator.return === undefined) replace(iterator, 'return', async (value: unknown) => ({ done: true, value }));
  let leave: ReturnType<Readers['enter']> | undefined;
  for (const name of ['next', 'return', 'throw'] as const) {
    const original = iterator[name];
    if (typeof original !== 'function') continue;
    const held = async (...given: unknown[]): Promise<IteratorResult<unknown, unknown>> => {
      // The other two end a generator that has not begun, and none of its work runs.
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

/** What a reader asks for the next piece; generators are made so. */
export type AnyIterator = AsyncIterator<unknown, unknown, unknown>;

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  try {
    // What is frozen cannot be watched.
    return typeof (value as AsyncIterable<unknown>)[Symbol.asyncIterator] === 'function' && Object.isExtensible(value);
  } catch {
    return false; // a getter of the user's object threw
  }
}

/**
 * Calls `prepare` with each iterator before it is read. The iterable stays the object that it was.
 * @param open - makes the iterator of a reader
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

/** A method of a single object, which its class goes on without. */
export function replace(target: object, name: PropertyKey, value: Function): void {
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
}

/** It is its own iterator. Cursors of databases have a `next()`, too, but it answers with a row, and nobody can leave them. */
function isGenerator(
  value: AsyncIterable<unknown> & Partial<AnyIterator>,
): value is AsyncIterable<unknown> & AnyIterator {
  return typeof value.next === 'function' && typeof value.return === 'function';
}
