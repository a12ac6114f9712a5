import { type Attributes, type Context, context, type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api';

import { type LockAcquireMessage, lockChannels, type LockHoldMessage } from '../channels.js';
import { typeOf } from '../metrics/observe.js';
import { type Phases, subscribe } from '../metrics/subscribe.js';

/**
 * The spans `acquire <name>` and `hold <name>`. Both are children of the span in which the call was made. They end when the wait or
 * the hold ends, not when the call returns its promise.
 */
export class LockSpans {
  private readonly parents = new WeakMap<LockAcquireMessage, Context>();
  private readonly spans = new WeakMap<object, Span>();
  private readonly unsubscribe: readonly (() => void)[];

  constructor(private readonly tracer: Tracer) {
    const acquire: Phases<LockAcquireMessage> = {
      start: (message) => {
        this.parents.set(message, context.active());
        this.start('acquire', message, context.active());
      },
      asyncEnd: (message) => this.end(message),
    };
    const hold: Phases<LockHoldMessage> = {
      start: (message) => this.start('hold', message, this.parents.get(message.acquire) ?? context.active()),
      asyncEnd: (message) => this.end(message),
    };
    this.unsubscribe = [subscribe(lockChannels.acquire, acquire), subscribe(lockChannels.hold, hold)];
  }

  stop(): void {
    for (const unsubscribe of this.unsubscribe) unsubscribe();
  }

  private start(what: string, message: LockAcquireMessage | LockHoldMessage, parent: Context): void {
    const attributes = { 'lock.name': message.name, 'lock.kind': message.kind };
    this.spans.set(message, this.tracer.startSpan(`${what} ${message.name}`, { attributes }, parent));
  }

  private end(message: LockAcquireMessage | LockHoldMessage): void {
    const span = this.spans.get(message);
    if (span === undefined) return;
    const { outcome, fencingToken, error } = message;
    const attributes: Attributes = { 'lock.outcome': outcome };
    if (fencingToken !== undefined) attributes['lock.fencing_token'] = fencingToken;
    if ('handOver' in message) attributes['lock.path'] = message.handOver;
    if ('reason' in message) attributes['lock.reason'] = message.reason;
    if (error !== undefined) {
      attributes['error.type'] = typeOf(error);
      // Contention is no fault. The message of an error may contain what a user sent, so it is not recorded.
      if (outcome === 'refused' || outcome === 'lost') span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.setAttributes(attributes).end();
  }
}
