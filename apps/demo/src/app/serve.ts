import { ConsoleLogger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';

import type { DemoSettings } from '../settings/demo-settings.js';
import { AppModule } from './app.module.js';
import { configureApp } from './configure-app.js';

export interface ServedDemo {
  readonly app: NestExpressApplication;
  readonly port: number;
}

/**
 * Starts one instance and its HTTP server. Throws errors instead of logging them, so that the caller reports them once.
 */
export async function serve(settings: DemoSettings): Promise<ServedDemo> {
  const logger = new ConsoleLogger({ prefix: settings.instance, logLevels: ['warn', 'error', 'fatal'] });
  const app = await NestFactory.create<NestExpressApplication>(AppModule.forRoot(settings), {
    abortOnError: false,
    autoFlushLogs: false,
    bodyParser: false,
    bufferLogs: true,
    logger,
  });
  configureApp(app);
  await app.listen(settings.port, settings.host);
  app.flushLogs();
  // The log lines of Nest about modules and routes are hidden above; those about locks are shown.
  logger.setLogLevels(['log', 'warn', 'error', 'fatal']);
  return { app, port: portOf(app) };
}

function portOf(app: NestExpressApplication): number {
  const address: unknown = app.getHttpServer().address();
  return (address as { port: number }).port;
}
