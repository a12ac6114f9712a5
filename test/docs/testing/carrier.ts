import { Injectable } from '@nestjs/common';

/** A slow external service; tests replace it. */
@Injectable()
export class Carrier {
  async printLabel(orderId: string): Promise<string> {
    return `label of ${orderId}`;
  }

  async handOver(label: string): Promise<string> {
    return `${label}: handed over`;
  }
}
