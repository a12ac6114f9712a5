import { Body, Controller, Post } from '@nestjs/common';
import { DistributeLock } from 'nestjs-distribute-lock';

export class PostTestDto {
  readonly channel!: string;
}

@Controller()
export class PostsController {
  // #region post-test
  @Post('post-test')
  @DistributeLock({ key: 'post_test_#{body.channel}', ttl: '10s' })
  async postTest(@Body() body: PostTestDto) {
    return this.publish(body.channel);
  }
  // #endregion

  private async publish(channel: string): Promise<string> {
    return `published on ${channel}`;
  }
}
