import type { TracingChannel } from 'node:diagnostics_channel';

/** What observers need of a traced operation: its start and its asynchronous end. */
export interface Phases<T> {
  readonly start: (message: T) => void;
  readonly asyncEnd: (message: T) => void;
}

type Listener = (message: unknown) => void;

/** Subscribes to two of the five channels; returns a function that ends it. */
export function subscribe<T extends object>(tracing: TracingChannel<T, T>, phases: Phases<T>): () => void {
  const { start, asyncEnd } = phases as { readonly start: Listener; readonly asyncEnd: Listener };
  tracing.start.subscribe(start);
  tracing.asyncEnd.subscribe(asyncEnd);
  return () => {
    tracing.start.unsubscribe(start);
    tracing.asyncEnd.unsubscribe(asyncEnd);
  };
}
