import type { Server } from 'node:http';

import { ValidationPipe } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';

import { LONGEST_WAIT_MS, LONGEST_WORK_MS } from '../settings/demo-settings.js';
import { setUpSwagger } from './swagger.js';

const LARGEST_BODY = '16kb';
/** A client must send its request within this time. */
const RECEIVE_LIMIT_MS = 10_000;
/** Longer than any request waits and works, so only a client that stopped reading is disconnected. */
const ANSWER_LIMIT_MS = LONGEST_WAIT_MS + LONGEST_WORK_MS + 5_000;

/** The HTTP settings except routes; shared by `main.ts` and the tests. */
export function configureApp(app: NestExpressApplication): void {
  app.use(securityHeaders());
  app.useBodyParser('json', { limit: LARGEST_BODY });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true }));
  app.enableShutdownHooks();
  limitTimes(app.getHttpServer());
  setUpSwagger(app);
}

function limitTimes(server: Server): void {
  server.headersTimeout = RECEIVE_LIMIT_MS;
  server.requestTimeout = RECEIVE_LIMIT_MS;
  server.setTimeout(ANSWER_LIMIT_MS);
}

function securityHeaders(): ReturnType<typeof helmet> {
  return helmet({
    // The demo uses plain HTTP: with this header some browsers would load nothing.
    strictTransportSecurity: false,
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
  });
}
