import { Injectable } from '@nestjs/common';

/** The resource of the examples: it rejects writes with an old fencing token. */
@Injectable()
export class Database {
  readonly written = new Map<string, number | undefined>();
  /** Delays writes, so that a spec can make assertions while a lock is held. */
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
