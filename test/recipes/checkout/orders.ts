import { ConflictException, Injectable } from '@nestjs/common';

export interface Sale {
  readonly seat: string;
  readonly fencingToken: number;
}

/** The database that all instances of the application share. */
@Injectable()
export class Orders {
  readonly sales = new Map<string, Sale>();

  async checkUnsold(seat: string): Promise<void> {
    if (this.sales.has(seat)) throw new ConflictException('The seat is sold.');
  }

  async pay(seat: string, fencingToken: number): Promise<Sale> {
    await this.checkUnsold(seat);
    const sale = { seat, fencingToken };
    this.sales.set(seat, sale);
    return sale;
  }
}
