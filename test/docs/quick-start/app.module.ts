import { Module } from '@nestjs/common';
import { LockModule } from 'nestjs-distribute-lock';

import { PostTestController } from './post-test.controller.js';

@Module({
  imports: [LockModule.forRoot({ connection: process.env.REDIS_URL })],
  controllers: [PostTestController],
})
export class AppModule {}
