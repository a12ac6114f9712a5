import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule } from 'nestjs-distribute-lock';

import { parentProcess } from '../../support/parent-process.js';
import { ImportService } from './import.service.js';
import { Pages } from './pages.js';

const { env } = process;

// #region module
@Module({
  imports: [LockModule.forRoot({ connection: env.REDIS_URL, prefix: env.LOCK_PREFIX, drainTimeout: '20s' })],
  providers: [ImportService, Pages],
})
class AppModule {}
// #endregion

const parent = parentProcess();

// #region main
const app = await NestFactory.createApplicationContext(AppModule);
app.enableShutdownHooks(); // otherwise SIGTERM ends the process at once, and its locks with their ttl
// #endregion

app.get(Pages).say = (what) => {
  console.log(`page ${what}`);
  parent.send('page', what);
};
await app.get(ImportService).importAll();
