import { setTimeout as delay } from 'node:timers/promises';

import { Body, Controller, Post } from '@nestjs/common';
import { DistributeLock } from 'nestjs-distribute-lock';

export class PostTestDto {
  readonly channel!: string;
}

@Controller()
export class PostTestController {
  @Post('post-test')
  @DistributeLock({ key: 'post_test_#{body.channel}', ttl: '10s' })
  async postTest(@Body() { channel }: PostTestDto) {
    await delay(2_000); // the work
    return { published: channel };
  }
}
