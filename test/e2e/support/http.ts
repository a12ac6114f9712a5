/** A response. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON body; empty for any other body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** From the start of the request to the last byte of the response. */
  readonly tookMs: number;
}

export interface PostOptions {
  /** Closes the connection when it aborts. */
  readonly signal?: AbortSignal;
}

const ANSWERS_WITHIN_MS = 25_000;

export function get(url: string): Promise<Answer> {
  return send(url, {});
}

/** Sends a string unchanged, and any other body as JSON. */
export function post(url: string, body: unknown, { signal }: PostOptions = {}): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return send(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text }, signal);
}

export function put(url: string, body: unknown): Promise<Answer> {
  const request = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return send(url, request);
}

/** Each request has its own connection: after a pause of the machine, a server closes an idle one while a request is on it. */
async function send(url: string, request: RequestInit, signal?: AbortSignal): Promise<Answer> {
  const headers = new Headers(request.headers);
  headers.set('connection', 'close');
  const sentAt = performance.now();
  const answersWithin = signal ?? AbortSignal.timeout(ANSWERS_WITHIN_MS);
  const response = await fetch(url, { ...request, headers, signal: answersWithin });
  const text = await response.text();
  const tookMs = performance.now() - sentAt;
  return { status: response.status, headers: response.headers, text, body: parsed(text), tookMs };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
