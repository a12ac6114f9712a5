import { finished, Readable } from 'node:stream';

import { StreamableFile } from '@nestjs/common';
import { isObservable } from 'rxjs';

import { isAsyncIterable } from './async-iterables.js';
import { holdIterable } from './held-iterable.js';
import { holdObservable } from './held-observable.js';
import type { Hold } from './hold.js';

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
