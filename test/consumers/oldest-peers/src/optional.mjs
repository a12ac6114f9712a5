/** Optional packages that are too old: the installation succeeds, and the entry that needs a version says so. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const entries = { imported: (name) => import(name), required: async (name) => require(name) };

for (const load of Object.values(entries)) {
  await assert.rejects(load('nestjs-distribute-lock/terminus'), /needs @nestjs\/terminus 11 or later/);
  const { lockTelemetry } = await load('nestjs-distribute-lock/otel');
  assert.throws(() => lockTelemetry(), /needs @opentelemetry\/api 1\.3 or later/);
  lockTelemetry({ meterProvider: false }).stop();
  const { lockMetrics } = await load('nestjs-distribute-lock/prometheus');
  assert.throws(() => lockMetrics(), /needs prom-client 13\.2 or later/);
}
