import { Injectable, Logger } from '@nestjs/common';
import { LockEvents } from 'nestjs-distribute-lock';

@Injectable()
export class LockAlerts {
  private readonly logger = new Logger(LockAlerts.name);

  constructor(events: LockEvents) {
    events.listen(({ name, reason }) => this.logger.error(`${name} lost its lock: ${reason}`), 'lost');
  }
}
