import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { CurrentLease, DistributeLock, type Lease } from 'nestjs-distribute-lock';

import { Pages } from './pages.js';

@Injectable()
export class ImportService implements BeforeApplicationShutdown {
  private stopping = false;

  constructor(private readonly pages: Pages) {}

  beforeApplicationShutdown(): void {
    this.stopping = true;
  }

  @DistributeLock({ key: 'import', onContended: 'skip' })
  async importAll(@CurrentLease() lease?: Lease): Promise<void> {
    while (!this.stopping && (await this.pages.hasMore())) {
      lease?.signal.throwIfAborted(); // the lock is lost: another instance may import now
      await this.pages.importNext();
    }
  }
}
