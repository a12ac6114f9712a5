import { Injectable } from '@nestjs/common';

/** The resource that all instances of the application share. */
@Injectable()
export class Reports {
  sent = 0;

  async send(): Promise<void> {
    this.sent += 1;
  }
}
