import { NestFactory } from '@nestjs/core';

import { AppModule } from './app.module.js';

export async function main(port: number | string) {
  // #region main
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks(); // a deploy then waits for holders, and releases their locks
  await app.listen(port);
  // #endregion
  return app;
}
