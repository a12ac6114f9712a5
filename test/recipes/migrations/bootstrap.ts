import type { DynamicModule, INestApplication } from '@nestjs/common';

import { Migrations } from './migrations.js';

/** The `main.ts` of the recipe, for several instances in one process. */
export async function bootstrap(
  NestFactory: { create(module: DynamicModule): Promise<INestApplication> },
  AppModule: DynamicModule,
  port: number,
): Promise<void> {
  // #region main
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks();
  await app.get(Migrations).run(); // before the first request
  await app.listen(port);
  // #endregion
}
