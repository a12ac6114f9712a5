import { Redis, type RedisOptions, type SentinelAddress } from 'ioredis';

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
    this.sentinels = (this.options.sentinels ?? []).map((at) => this.subscribed(at));
  }

  close(): void {
    for (const sentinel of this.sentinels) sentinel.disconnect();
  }

  private subscribed(at: Partial<SentinelAddress>): Redis {
    const { name } = this.options;
    const sentinel = new Redis(sentinelOptions(at, this.options));
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

/** A connection to a Sentinel, had in the same way as the client of the primary has its own. */
export function sentinelOptions(at: Partial<SentinelAddress>, options: RedisOptions): RedisOptions {
  const { host, port = 26_379, family = options.family } = at;
  const { sentinelUsername, sentinelPassword, sentinelTLS } = options;
  return {
    ...(host !== undefined && { host }),
    port,
    ...(family !== undefined && { family }),
    ...(typeof sentinelUsername === 'string' && { username: sentinelUsername }),
    ...(typeof sentinelPassword === 'string' && { password: sentinelPassword }),
    ...(sentinelTLS !== undefined && { tls: sentinelTLS }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: CONNECT_TIMEOUT_MS,
    enableReadyCheck: false,
    autoResubscribe: false,
    maxRetriesPerRequest: null,
    retryStrategy: pauseMs,
  };
}
