import 'reflect-metadata';

import { serve } from './app/serve.js';
import { hasParent, tellParent, whenParentIsGone } from './process/parent.js';
import { sharedSettings } from './settings/demo-settings.js';
import { startFailure } from './settings/start-failure.js';

/** Much longer than a clean shutdown takes. */
const LAST_RESORT_MS = 10_000;

whenParentIsGone(() => {
  // Like Ctrl-C: Nest shuts down cleanly once it handles signals, and before that the process ends at once.
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.exit(1), LAST_RESORT_MS).unref();
});

try {
  const ports: number[] = [];
  for (const settings of sharedSettings(process.env)) ports.push((await serve(settings)).port);
  await tellParent({ type: 'ready', ready: { port: ports[0], ports } });
  if (!hasParent()) console.log(`Listening on port ${ports.join(' and ')}, Swagger UI is at /docs`);
} catch (error) {
  const message = startFailure(error, process.env);
  await tellParent({ type: 'failed', message });
  if (!hasParent()) console.error(message);
  process.exit(1);
}
