import { Injectable } from '@nestjs/common';

/** Counts until a test sets the result. */
@Injectable()
export class Warehouse {
  readonly counting: ((amount: number) => void)[] = [];

  count(_sku: string): Promise<number> {
    return new Promise((resolve) => this.counting.push(resolve));
  }
}
