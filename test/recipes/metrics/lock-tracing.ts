import { type LockAcquireMessage, lockChannels, type LockHoldMessage } from 'nestjs-distribute-lock';

/** What an agent offers: `startSpan` and `finish`, as the tracers of Datadog and OpenTracing do. */
export interface Tracer {
  startSpan(name: string, options: { tags: Record<string, unknown> }): Span;
}

export interface Span {
  addTags(tags: Record<string, unknown>): void;
  finish(): void;
}

/**
 * One span per wait and per hold. It ends on `asyncEnd`: `end` comes when the call has returned its promise.
 * @returns a function that stops the tracing
 */
export function traceLocks(tracer: Tracer): () => void {
  const spans = new WeakMap<object, Span>();
  const start = (operation: string, message: LockAcquireMessage | LockHoldMessage): void => {
    const tags = { 'resource.name': message.name, 'lock.kind': message.kind };
    spans.set(message, tracer.startSpan(operation, { tags }));
  };
  const finish = (message: LockAcquireMessage | LockHoldMessage): void => {
    const { outcome, fencingToken, error } = message;
    const span = spans.get(message);
    span?.addTags({ 'lock.outcome': outcome, 'lock.fencing_token': fencingToken, 'error.type': error?.name });
    span?.finish();
  };
  const { acquire, hold } = lockChannels;
  const subscriptions = [
    [acquire.start, (message: unknown) => start('lock.acquire', message as LockAcquireMessage)],
    [acquire.asyncEnd, (message: unknown) => finish(message as LockAcquireMessage)],
    [hold.start, (message: unknown) => start('lock.hold', message as LockHoldMessage)],
    [hold.asyncEnd, (message: unknown) => finish(message as LockHoldMessage)],
  ] as const;
  for (const [channel, listener] of subscriptions) channel.subscribe(listener);
  return () => {
    for (const [channel, listener] of subscriptions) channel.unsubscribe(listener);
  };
}
