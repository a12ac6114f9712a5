import { attemptsOf, gaveUp, type RedisClient } from './redis-client.js';

/**
 * Notices when the application closes its client, which is the template of a connection of the library. A client whose
 * retry strategy gives up is not closed: the library continues to connect.
 */
export class TemplateWatch {
  /** Attempts to reconnect when the client was last ready or reconnecting. */
  private attempts: number;
  /** A connection was closed since the client last began to connect. */
  private closed = false;
  private readonly handlers: Readonly<Record<string, () => void>> = {
    ready: () => this.opened(),
    reconnecting: () => this.count(),
    connecting: () => void (this.closed = false),
    close: () => void (this.closed = true),
    end: () => this.ended(),
  };

  constructor(
    private readonly client: RedisClient,
    private readonly closedByApplication: () => void,
  ) {
    this.attempts = attemptsOf(client);
    allow(client, 1);
    for (const [event, handler] of Object.entries(this.handlers)) client.on(event, handler);
  }

  end(): void {
    for (const [event, handler] of Object.entries(this.handlers)) this.client.off(event, handler);
    allow(this.client, -1);
  }

  private opened(): void {
    gaveUp.delete(this.client);
    this.count();
  }

  private count(): void {
    this.attempts = attemptsOf(this.client);
  }

  private ended(): void {
    if (this.hasGivenUp()) gaveUp.add(this.client);
    else this.closedByApplication();
  }

  private hasGivenUp(): boolean {
    // The client counts before it calls its retry strategy.
    if (attemptsOf(this.client) > this.attempts) return true;
    // `sentinelRetryStrategy` is not counted, and ends a client that has no connection to close.
    const { manuallyClosing } = this.client as unknown as { readonly manuallyClosing?: unknown };
    return !this.closed && manuallyClosing !== true;
  }
}

/** Several modules may watch one client, and Node warns of more listeners than the application expects; 0 allows any number. */
function allow(client: RedisClient, more: number): void {
  const most = client.getMaxListeners();
  if (most > 0) client.setMaxListeners(most + more);
}
