import { Injectable } from '@nestjs/common';

/** What all instances of the recipe's application share. */
@Injectable()
export class Reports {
  sent = 0;

  async send(): Promise<void> {
    this.sent += 1;
  }
}
