import { AsyncLocalStorage } from 'node:async_hooks';

import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';

import type { RequestData, RequestRoot } from '../../keys/key-roots.js';
import { addAbortListener, removeAbortListener } from '../../engine/abort-listeners.js';
import { processWide } from '../../runtime/process-wide.js';

interface Closable {
  readonly destroyed?: boolean;
  once(event: 'close', listener: () => void): unknown;
}

interface HttpResponse extends Closable {
  readonly writableEnded?: boolean;
  readonly writableFinished?: boolean;
  /** Present with HTTP/2, where the response has no `destroyed`. */
  readonly stream?: { readonly destroyed?: boolean };
  /** `null` while an earlier response of the connection is sent. */
  readonly socket?: object | null;
  readonly req?: { readonly socket?: Closable };
}

const scopes = processWide('call scopes', () => new AsyncLocalStorage<CallScope>());

/** State that the calls of one request share: context, request data, and a signal that the client has disconnected. */
export class CallScope implements RequestData {
  private leaving: AbortSignal | undefined;
  private ended = false;
  private running = 0;

  constructor(readonly context: ExecutionContext) {}

  static get current(): CallScope | undefined {
    return scopes.getStore();
  }

  /** Runs `work` inside this scope. */
  run<T>(work: () => T): T {
    return scopes.run(this, work);
  }

  get transport(): string {
    return this.context.getType<string>();
  }

  read(root: RequestRoot): unknown {
    switch (root) {
      case 'data':
        return this.transport === 'ws' ? this.context.switchToWs().getData() : this.context.switchToRpc().getData();
      case 'args':
        // A GraphQL resolver is called with (parent, args, context, info).
        return this.context.getArgByIndex(1);
      default:
        return (this.context.switchToHttp().getRequest<Record<string, unknown> | undefined>() ?? {})[root];
    }
  }

  /**
   * Marks the start of the handler, or of a step of its async iterable; call the result at its end. An outer `retry()` starts the
   * handler again.
   */
  begin(): () => void {
    this.running += 1;
    this.ended = false;
    return () => {
      this.running -= 1;
      this.ended = this.running === 0;
    };
  }

  /** Aborts when the client of an HTTP request disconnects before the response. Created on first use. */
  get clientLeft(): AbortSignal | undefined {
    if (this.leaving === undefined && this.transport === 'http') this.leaving = this.watchClient();
    // Work that outlives the handler, such as a timer, has no client to disconnect.
    return this.ended ? undefined : this.leaving;
  }

  private watchClient(): AbortSignal | undefined {
    const raw = responseOf(this.context);
    if (typeof raw?.once !== 'function') return undefined;
    const controller = new AbortController();
    const leave = (): void => {
      if (!isSent(raw)) controller.abort(new Error('The client closed the connection.'));
    };
    if (isClosed(raw)) leave();
    else whenClosed(raw, leave);
    return controller.signal;
  }
}

/** Whether the client of an HTTP request disconnected before the response. */
export function clientHasLeft(context: ExecutionContext): boolean {
  if (context.getType() !== 'http') return false;
  const raw = responseOf(context);
  return raw !== undefined && isClosed(raw) && !isSent(raw);
}

/** Whether the connection of the response was closed, or its stream with HTTP/2. */
const isClosed = ({ destroyed, stream, req }: HttpResponse): boolean =>
  destroyed === true || stream?.destroyed === true || req?.socket?.destroyed === true;

/** Calls `closed` when the response was sent, or when its connection closes. */
function whenClosed(raw: HttpResponse, closed: () => void): void {
  raw.once('close', closed);
  const connection = raw.req?.socket;
  // A response that waits behind an earlier one emits no event when the connection closes.
  if (raw.socket !== null || typeof connection?.once !== 'function') return;
  const signal = closingOf(connection);
  const listener = { aborted: closed };
  addAbortListener(signal, listener);
  raw.once('close', () => removeAbortListener(signal, listener));
}

const closings = new WeakMap<Closable, AbortSignal>();

/** Aborts when the connection closes. Its requests share one listener, because Node warns of a leak from the eleventh on. */
function closingOf(connection: Closable): AbortSignal {
  const known = closings.get(connection);
  if (known !== undefined) return known;
  const controller = new AbortController();
  connection.once('close', () => controller.abort());
  closings.set(connection, controller.signal);
  return controller.signal;
}

/** With HTTP/2, a canceled response has finished but has not ended. */
const isSent = ({ writableEnded, writableFinished }: HttpResponse): boolean =>
  writableFinished === true && writableEnded !== false;

/** The response of Node; Fastify wraps it. */
export function responseOf(context: ArgumentsHost): HttpResponse | undefined {
  const response = context.switchToHttp().getResponse<(HttpResponse & { raw?: HttpResponse }) | undefined>();
  return response?.raw ?? response ?? undefined;
}
