import { Controller, HttpCode, Param, ParseIntPipe, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { DistributeLock } from 'nestjs-distribute-lock';

/** Answer of `POST /reminders/:orderId`. */
export class ReminderAnswer {
  @ApiProperty({ type: Boolean, description: 'Whether this request sent one' })
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
  @ApiOperation({ summary: 'Sends one reminder for an order in 3 s, on all instances: the key is left to its ttl' })
  @ApiOkResponse({ type: ReminderAnswer })
  async send(@Param('orderId', ParseIntPipe) _orderId: number): Promise<ReminderAnswer> {
    return { sent: true };
  }
}
