import { NestFactory } from '@nestjs/core';

import { AppModule } from './app.module.js';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks(); // a deploy then waits for holders, and releases their locks
  await app.listen(process.env.PORT ?? 3000);
}

void bootstrap();
