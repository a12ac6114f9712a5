// #region script
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule } from 'nestjs-distribute-lock';

import { BackfillService } from './backfill.service.js';

@Module({
  imports: [LockModule.forRoot({ connection: process.env.REDIS_URL })],
  providers: [BackfillService],
})
class ScriptModule {}

const app = await NestFactory.createApplicationContext(ScriptModule);
app.enableShutdownHooks(); // Ctrl+C releases the lock, too
try {
  await app.get(BackfillService).run();
} finally {
  await app.close(); // the connections to Redis keep the process alive until then
}
// #endregion
