import { Body, Controller, Post, UseInterceptors } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiOperation,
  ApiServiceUnavailableResponse,
  ApiTags,
} from '@nestjs/swagger';
import { CurrentLease, DistributeLock, type Lease } from 'nestjs-distribute-lock';

import { OrderLogInterceptor } from '../logging/order-log.interceptor.js';
import { LONGEST_WAIT_MS } from '../settings/demo-settings.js';
import { WorkService } from '../work/work.service.js';
import { PostTestDone, PostTestDto } from './post-test.dto.js';

@ApiTags('post-test')
@ApiCreatedResponse({ type: PostTestDone })
@ApiBadRequestResponse({ description: 'The body is not valid; no lock was acquired' })
@ApiConflictResponse({ description: 'Another request works on this channel; see Retry-After' })
@ApiServiceUnavailableResponse({ description: 'Redis cannot be reached, or the instance is shutting down' })
@Controller('post-test')
@UseInterceptors(OrderLogInterceptor)
export class PostTestController {
  constructor(private readonly work: WorkService) {}

  @Post()
  @ApiOperation({ summary: 'Works under a lock named by the channel; refused at once while another request does' })
  @DistributeLock({ key: 'post_test_#{body.channel}', ttl: '10s' })
  async postTest(@Body() body: PostTestDto, @CurrentLease() lease: Lease): Promise<PostTestDone> {
    return { ...(await this.work.run(lease, body.workMs)), channel: body.channel };
  }

  @Post('wait')
  @ApiOperation({ summary: 'The same lock, but waits up to 15 s for its turn' })
  @DistributeLock({ key: 'post_test_#{body.channel}', ttl: '10s', wait: LONGEST_WAIT_MS })
  async postTestInTurn(@Body() body: PostTestDto, @CurrentLease() lease: Lease): Promise<PostTestDone> {
    return { ...(await this.work.run(lease, body.workMs)), channel: body.channel };
  }
}
