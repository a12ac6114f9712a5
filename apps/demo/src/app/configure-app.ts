import { ValidationPipe } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';

import { setUpSwagger } from './swagger.js';

const LARGEST_BODY = '16kb';

/** Everything about HTTP that is not a route; shared by `main.ts` and the tests. */
export function configureApp(app: NestExpressApplication): void {
  app.use(securityHeaders());
  app.useBodyParser('json', { limit: LARGEST_BODY });
  app.useGlobalPipes(new ValidationPipe({ whitelist: true, transform: true }));
  app.enableShutdownHooks();
  setUpSwagger(app);
}

function securityHeaders(): ReturnType<typeof helmet> {
  return helmet({
    // The demo is served over plain HTTP: told to upgrade, some browsers would load nothing.
    strictTransportSecurity: false,
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
  });
}
