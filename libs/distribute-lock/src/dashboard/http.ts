import type { IncomingMessage, ServerResponse } from 'node:http';

import type { PageClient } from './lock-dashboard.js';

/** A request of Express or Fastify. */
export interface AnyRequest {
  readonly raw?: IncomingMessage;
  readonly headers: IncomingMessage['headers'];
  readonly url: string;
  readonly originalUrl?: string;
  readonly socket: { readonly remoteAddress?: string };
}

/** A response of Express or Fastify. */
export interface AnyResponse {
  readonly raw?: ServerResponse;
  /** Fastify: the response is written without it. */
  hijack?(): void;
}

/** Clients that read slower lose no change: they get it with a later message. */
const MOST_BUFFERED = 256 * 1024;

const SECURITY = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** The response of Node, so that interceptors and filters of the application do not change the page. */
function nodeResponse(response: AnyResponse): ServerResponse {
  response.hijack?.();
  return response.raw ?? (response as ServerResponse);
}

export function sendText(
  response: AnyResponse,
  text: string,
  { type, status = 200, headers = {} }: { type: string; status?: number; headers?: Readonly<Record<string, string>> },
): void {
  const raw = nodeResponse(response);
  raw.writeHead(status, {
    ...SECURITY,
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache',
    ...headers,
  });
  raw.end(text);
}

export function sendJson(response: AnyResponse, status: number, words: Readonly<Record<string, unknown>>): void {
  sendText(response, JSON.stringify(words), {
    type: 'application/json',
    status,
    headers: { 'cache-control': 'no-store' },
  });
}

/** A stream of server-sent events. */
export class EventStream implements PageClient {
  private readonly raw: ServerResponse;

  constructor(response: AnyResponse) {
    this.raw = nodeResponse(response);
    this.raw.writeHead(200, {
      ...SECURITY,
      'content-type': 'text/event-stream; charset=utf-8',
      // Proxies and compression must not hold messages back.
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    this.raw.write('retry: 1000\n\n');
  }

  /** Calls `closed` when the client has left. */
  onClose(closed: () => void): void {
    this.raw.once('close', closed);
  }

  get ready(): boolean {
    return this.raw.writableLength < MOST_BUFFERED;
  }

  send(event: string, words: Readonly<Record<string, unknown>>): void {
    if (!this.raw.writableEnded) this.raw.write(`event: ${event}\ndata: ${JSON.stringify(words)}\n\n`);
  }

  end(): void {
    this.raw.end();
  }
}

/** The address of the page without its query, as the browser sees it. */
export function pathOf({ originalUrl, url }: AnyRequest): string {
  return (originalUrl ?? url).replace(/\?.*$/s, '');
}
