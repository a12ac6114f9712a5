import { Redis, type RedisOptions } from 'ioredis';

import { pauseMs } from './own-options.js';

const CHANNEL = '+switch-master';
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Hears from every Sentinel that another primary has taken over. One that was replaced may take writes for ten seconds more, and would renew
 * what the new one has given to somebody else. (The client's own detector ends the client for good when the news comes while it reconnects.)
 */
export class SentinelWatch {
  private sentinels: readonly Redis[] = [];

  /** @param switched - is told where the primary is now, as `host port` */
  constructor(
    private readonly options: RedisOptions,
    private readonly switched: (place: string) => void,
  ) {}

  open(): void {
    if (this.sentinels.length > 0) return;
    this.sentinels = (this.options.sentinels ?? []).map(({ host, port }) => this.subscribed(host, port));
  }

  close(): void {
    for (const sentinel of this.sentinels) sentinel.disconnect();
  }

  private subscribed(host?: string, port = 26_379): Redis {
    const { sentinelUsername, sentinelPassword, sentinelTLS, name } = this.options;
    const sentinel = new Redis({
      ...(host !== undefined && { host }),
      port,
      ...(typeof sentinelUsername === 'string' && { username: sentinelUsername }),
      ...(typeof sentinelPassword === 'string' && { password: sentinelPassword }),
      ...(sentinelTLS !== undefined && { tls: sentinelTLS }),
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: CONNECT_TIMEOUT_MS,
      enableReadyCheck: false,
      autoResubscribe: false,
      maxRetriesPerRequest: null,
      retryStrategy: pauseMs,
    });
    sentinel.on('error', () => undefined); // one that is away tells nothing, and is tried again
    sentinel.on('message', (_: string, text: string) => {
      const [of, , , newHost, newPort] = text.split(' ');
      if (of === name) this.switched(`${newHost} ${newPort}`);
    });
    // Without the right to it there is no news.
    sentinel.on('ready', () => void sentinel.subscribe(CHANNEL).catch(() => undefined));
    return sentinel;
  }
}
