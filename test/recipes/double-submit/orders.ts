import { setTimeout as delay } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';

interface Order {
  readonly orderId: number;
}

/** The resource that all instances of the application share; as slow as a real one. */
@Injectable()
export class Orders {
  readonly placed = new Map<string, Order>();

  async find(requestId: string): Promise<Order | undefined> {
    await delay(20);
    return this.placed.get(requestId);
  }

  async place(requestId: string, _cart: string): Promise<Order> {
    await delay(200);
    if (this.placed.has(requestId)) throw new Error('placed twice');
    const order = { orderId: this.placed.size + 1 };
    this.placed.set(requestId, order);
    return order;
  }
}
