import { Injectable } from '@nestjs/common';
import { currentLease, DistributeLock } from 'nestjs-distribute-lock';

@Injectable()
export class ImagesService {
  // #region blocking
  @DistributeLock({ key: 'image:#{arg0}', ttl: '10s' })
  async resize(id: string) {
    await currentLease().extend('2m'); // the next step blocks the event loop for up to a minute
    return this.resizeSynchronously(id);
  }
  // #endregion

  private resizeSynchronously(id: string): string {
    return `resized ${id}`;
  }
}
