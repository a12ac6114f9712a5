import { Injectable } from '@nestjs/common';
import { type Lease, LockService } from 'nestjs-distribute-lock';

import { stage } from '../support/stage.js';

/** The service behind the processor of the recipe. */
@Injectable()
export class Invoices {
  constructor(private readonly locks: LockService) {}

  async settle(_amount: number, lease: Lease | undefined): Promise<string> {
    return stage.play(lease, this.locks.current());
  }
}
