import { Injectable } from '@nestjs/common';

/** A slow external service; tests replace it. */
@Injectable()
export class Carrier {
  printLabel(orderId: string): Promise<string> {
    return Promise.resolve(`label of ${orderId}`);
  }

  handOver(label: string): Promise<string> {
    return Promise.resolve(`${label}: handed over`);
  }
}
