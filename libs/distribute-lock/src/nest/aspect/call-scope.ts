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

/** What the calls of one request share: its context, its data, and word of the client's leaving. */
export class CallScope implements RequestData {
  private leaving: AbortSignal | undefined;
  private ended = false;

  constructor(readonly context: ExecutionContext) {}

  static get current(): CallScope | undefined {
    return scopes.getStore();
  }

  /** Runs `work`, and all that it calls, inside this scope. */
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

  /** The handler begins; what this answers is called when it has ended. An outer `retry()` has it begin again. */
  begin(): () => void {
    this.ended = false;
    return () => void (this.ended = true);
  }

  /** Aborts when the client of an HTTP request leaves before it was answered. Made when first asked for. */
  get clientLeft(): AbortSignal | undefined {
    if (this.leaving === undefined && this.transport === 'http') this.leaving = this.watchClient();
    // What the request started may outlive it, such as a timer, and has nobody who could leave.
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

/** Whether the client of an HTTP request closed its connection before it was answered. */
export function clientHasLeft(context: ExecutionContext): boolean {
  if (context.getType() !== 'http') return false;
  const raw = responseOf(context);
  return raw?.destroyed === true && raw.writableFinished !== true;
}

/** Fastify wraps the response of Node. */
function responseOf(context: ExecutionContext): HttpResponse | undefined {
  const response = context.switchToHttp().getResponse<(HttpResponse & { raw?: HttpResponse }) | undefined>();
  return response?.raw ?? response;
}
