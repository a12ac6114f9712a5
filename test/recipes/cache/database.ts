import { Injectable } from '@nestjs/common';

/** The resource that all instances share. */
@Injectable()
export class Database {
  readonly sums: string[] = [];
  /** Delays or fails the query. */
  gate: () => Promise<void> = async () => undefined;

  async sum(month: string): Promise<string> {
    this.sums.push(month);
    await this.gate();
    return `the sum of ${month}`;
  }
}
