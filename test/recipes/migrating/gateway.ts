import { Injectable } from '@nestjs/common';

/** What old and new code share: it notices when two of them are in it at once. */
@Injectable()
export class Gateway {
  charged = 0;
  inside = 0;
  overlaps = 0;
  /** What the work waits for. */
  gate: () => Promise<unknown> = () => new Promise((resolve) => void setTimeout(resolve, 5));

  async charge(_orderId: string): Promise<string> {
    this.inside += 1;
    if (this.inside > 1) this.overlaps += 1;
    await this.gate();
    this.inside -= 1;
    this.charged += 1;
    return 'charged';
  }
}
