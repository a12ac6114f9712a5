/** Uses the optional entries of the installed package. Prints the results as one line of JSON. */
import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { LockModule, LockService } from 'nestjs-distribute-lock';
import { lockTelemetry } from 'nestjs-distribute-lock/otel';
import { lockMetrics } from 'nestjs-distribute-lock/prometheus';
import { LockHealthIndicator } from 'nestjs-distribute-lock/terminus';
import { register } from 'prom-client';

const exporter = new InMemoryMetricExporter(1);
const reader = new PeriodicExportingMetricReader({ exporter });
lockMetrics();
lockTelemetry({ meterProvider: new MeterProvider({ readers: [reader] }), tracerProvider: false });

class Application {}
Module({
  imports: [LockModule.forRoot({ connection: process.env.REDIS_URL }), TerminusModule.forRoot({ logger: false })],
  providers: [LockHealthIndicator],
})(Application);
const application = await NestFactory.createApplicationContext(Application, { logger: false });
await application.get(LockService).withLock('order', { name: 'orders' }, () => undefined);

const indicator = application.get(LockHealthIndicator);
const healthy = await application.get(HealthCheckService).check([() => indicator.isHealthy('locks')]);
const down = await application
  .get(HealthCheckService)
  .check([() => indicator.isHealthy('locks', { maxWaitingShare: 0 })])
  .catch((error) => error.getStatus());
await reader.forceFlush();
const measured = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
const wait = measured.find(({ descriptor }) => descriptor.name === 'distribute_lock.wait.duration');
const text = await register.metrics();
await reader.shutdown();
await application.close();
const { version } = JSON.parse(
  readFileSync(new URL('../node_modules/@nestjs/terminus/package.json', import.meta.url), 'utf8'),
);
console.log(
  JSON.stringify({
    terminus: version,
    healthy: [healthy.status, healthy.info.locks.status, healthy.info.locks.connections],
    down,
    prometheus: /^distribute_lock_wait_duration_seconds_count\{lock_name="orders".*\} (\d+)$/m.exec(text)?.[1],
    otel: wait.dataPoints.find(({ attributes }) => attributes['lock.name'] === 'orders').value.count,
  }),
);
