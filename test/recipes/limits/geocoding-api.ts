import { Injectable } from '@nestjs/common';

/** The service of another company, which all instances share. */
@Injectable()
export class GeocodingApi {
  running = 0;
  mostAtOnce = 0;
  /** Delays the answers. */
  latency: () => Promise<void> = async () => undefined;

  async find(address: string): Promise<string> {
    this.running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    try {
      await this.latency();
      return `found ${address}`;
    } finally {
      this.running -= 1;
    }
  }
}
