import { Injectable } from '@nestjs/common';

/** The resource that old and new code share; it detects two callers at once. */
@Injectable()
export class Gateway {
  charged = 0;
  inside = 0;
  overlaps = 0;
  /** The duration of the work. */
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
