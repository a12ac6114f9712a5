import { Injectable } from '@nestjs/common';
import { currentLease, DistributeLock } from 'nestjs-distribute-lock';

@Injectable()
export class ImportService {
  readonly imported: number[] = [];

  // #region signal
  @DistributeLock({ key: 'import', onLost: 'throw' })
  async importAll(pages: readonly number[]) {
    const { signal } = currentLease();
    for (const page of pages) {
      signal.throwIfAborted(); // another process may import now
      await this.importPage(page);
    }
  }
  // #endregion

  async importPage(page: number): Promise<void> {
    this.imported.push(page);
  }
}
