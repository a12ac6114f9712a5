import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { DistributeLock } from 'nestjs-distribute-lock';

import { ParseIdPipe } from '../work/parse-id.pipe.js';

/** Response of `POST /reminders/:orderId`. */
export class ReminderAnswer {
  @ApiProperty({ type: Boolean, description: 'Whether this request sent a reminder' })
  readonly sent!: boolean;
}

@ApiTags('reminders')
@Controller('reminders')
export class RemindersController {
  @Post(':orderId')
  @HttpCode(200)
  @DistributeLock({
    key: 'reminder:#{params.orderId}',
    ttl: '3s',
    release: 'expire',
    onContended: (): ReminderAnswer => ({ sent: false }),
  })
  @ApiOperation({ summary: 'Sends one reminder per order in 3 s, on all instances: the key is left to its ttl' })
  @ApiOkResponse({ type: ReminderAnswer })
  async send(@Param('orderId', ParseIdPipe) _orderId: number): Promise<ReminderAnswer> {
    return { sent: true };
  }
}
