import { Injectable } from '@nestjs/common';

/** Far away and slow; tests bring one of their own. */
@Injectable()
export class Carrier {
  async printLabel(orderId: string): Promise<string> {
    return `label of ${orderId}`;
  }

  async handOver(label: string): Promise<string> {
    return `${label}: handed over`;
  }
}
