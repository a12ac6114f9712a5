import { AsyncLocalStorage } from 'node:async_hooks';

import type { ExecutionContext } from '@nestjs/common';

import type { RequestData, RequestRoot } from '../../keys/key-roots.js';
import { processWide } from '../../runtime/process-wide.js';

interface HttpResponse {
  readonly destroyed?: boolean;
  readonly writableFinished?: boolean;
  once(event: 'close', listener: () => void): unknown;
}

const scopes = processWide('call scopes', () => new AsyncLocalStorage<CallScope>());

/** State that the calls of one request share: context, request data, and a signal that the client has disconnected. */
export class CallScope implements RequestData {
  private leaving: AbortSignal | undefined;
  private ended = false;

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

  /** Marks the start of the handler; call the result at its end. An outer `retry()` starts the handler again. */
  begin(): () => void {
    this.ended = false;
    return () => void (this.ended = true);
  }

  /** Aborts when the client of an HTTP request disconnects before the response. Created on first use. */
  get clientLeft(): AbortSignal | undefined {
    if (this.leaving === undefined && this.transport === 'http') this.leaving = this.watchClient();
    // Work that outlives the request, such as a timer, has no client to disconnect.
    return this.ended && this.leaving?.aborted === true ? undefined : this.leaving;
  }

  private watchClient(): AbortSignal | undefined {
    const raw = responseOf(this.context);
    if (typeof raw?.once !== 'function') return undefined;
    const controller = new AbortController();
    const leave = (): void => {
      if (raw.writableFinished !== true) controller.abort(new Error('The client closed the connection.'));
    };
    if (raw.destroyed === true) leave();
    else raw.once('close', leave);
    return controller.signal;
  }
}

/** Whether the client of an HTTP request disconnected before the response. */
export function clientHasLeft(context: ExecutionContext): boolean {
  if (context.getType() !== 'http') return false;
  const raw = responseOf(context);
  return raw?.destroyed === true && raw.writableFinished !== true;
}

/** The response of Node; Fastify wraps it. */
function responseOf(context: ExecutionContext): HttpResponse | undefined {
  const response = context.switchToHttp().getResponse<(HttpResponse & { raw?: HttpResponse }) | undefined>();
  return response?.raw ?? response;
}
