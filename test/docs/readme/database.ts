import { Injectable } from '@nestjs/common';

/** What the examples protect: it takes no write from behind the last one. */
@Injectable()
export class Database {
  readonly written = new Map<string, number | undefined>();
  /** What a write waits for, so that a spec can look while a lock is held. */
  gate: Promise<void> = Promise.resolve();

  async charge(orderId: string, fencingToken: number | undefined): Promise<{ charged: string }> {
    await this.write(orderId, fencingToken);
    return { charged: orderId };
  }

  async write(id: string, fencingToken: number | undefined): Promise<void> {
    await this.gate;
    this.written.set(id, fencingToken);
  }
}
