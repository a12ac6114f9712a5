import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { DistributeLock } from 'nestjs-distribute-lock';

/** Response of `POST /click`. */
export class ClickAnswer {
  @ApiProperty({ type: Boolean })
  readonly accepted!: boolean;

  @ApiProperty({ type: String })
  readonly message!: string;
}

@ApiTags('click')
@Controller('click')
export class ClicksController {
  @Post()
  @HttpCode(200)
  @ApiOperation({ summary: 'Accepts one click per address in 2 s, and sends a custom response to the others' })
  @ApiOkResponse({ type: ClickAnswer })
  @DistributeLock({
    key: 'click_#{ip}',
    ttl: '5s',
    minHold: '2s',
    onContended: (): ClickAnswer => ({ accepted: false, message: 'Please do not click so often.' }),
  })
  async click(): Promise<ClickAnswer> {
    return { accepted: true, message: 'Click.' };
  }
}
