import type { Leadership, LockService } from 'nestjs-distribute-lock';

export function standForPrices(locks: LockService, read: (signal: AbortSignal) => Promise<void>): Leadership {
  return locks.lead('price-feed', ({ signal }) => read(signal), { ttl: '10s' });
}
