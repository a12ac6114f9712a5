import { setTimeout as delay } from 'node:timers/promises';

import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import {
  type AcquireOptions,
  DistributeLock,
  isLockError,
  type Lease,
  type LockAcquireMessage,
  lockChannels,
  LockModule,
  LockService,
  type LockStateMessage,
} from 'nestjs-distribute-lock';
import { lockTelemetry } from 'nestjs-distribute-lock/otel';
import { lockMetrics } from 'nestjs-distribute-lock/prometheus';
import { Registry } from 'prom-client';

import { parentProcess } from '../../support/parent-process.js';
import type { Acquire, Measured, Requests, Responses } from './application.js';

const HOUR_MS = 3_600_000;

@Injectable()
class Reports {
  @DistributeLock({ key: 'report:#{arg0}', wait: '10s' })
  async write(_name: string): Promise<void> {
    await delay(5);
  }
}

@Module({
  imports: [
    LockModule.forRoot({ connection: process.env['REDIS_URL']!, prefix: process.env['PREFIX']!, warnAfter: 0 }),
  ],
  providers: [Reports],
})
class Application {}

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const registry = new Registry();
const exported = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const spans = new InMemorySpanExporter();
const reader = new PeriodicExportingMetricReader({ exporter: exported, exportIntervalMillis: HOUR_MS });
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
lockMetrics({ registry });
lockTelemetry({ meterProvider: new MeterProvider({ readers: [reader] }), tracerProvider });

const app = await NestFactory.createApplicationContext(Application, { logger: false });
const locks = app.get(LockService);
const leases = new Map<string, Lease>();
const measured: Measured[] = [];
const published = { waits: [] as Measured[], lagsMs: [] as number[] };
lockChannels.acquire.asyncEnd.subscribe((message) => {
  const { name, outcome = '', waitedMs = Number.NaN } = message as LockAcquireMessage;
  published.waits.push({ name, outcome, waitedMs });
});
lockChannels.state.subscribe((message) => {
  const state = message as LockStateMessage;
  if (state.type === 'renewed') published.lagsMs.push(state.lagMs);
});
const parent = parentProcess<Requests, Responses>();

/** Measures the call as a whole, and keeps the lease until `release`. */
async function acquire({ key, name, ...options }: Acquire): Promise<void> {
  const since = performance.now();
  const record = (outcome: string): void => void measured.push({ name, outcome, waitedMs: performance.now() - since });
  try {
    const lease = await locks.acquire(key, { name, ...(options as AcquireOptions) });
    record('acquired');
    leases.set(typeof key === 'string' ? key : key.join(), lease);
  } catch (error) {
    record(isLockError(error) ? error.code : String(error));
  }
}

const commands: { readonly [Name in keyof Requests]: (data: Requests[Name]) => unknown } = {
  acquire,
  warm: async (times) => {
    for (let i = 0; i < times; i += 1) await locks.withLock(`warm ${i}`, { name: 'warm' }, () => undefined);
  },
  release: async (key) => {
    await leases.get(key)?.release();
    leases.delete(key);
  },
  /** Waiters of this process that get the lock one after the other. */
  line: async ({ key, name, callers }) => {
    const one = (since = performance.now()): Promise<void> =>
      locks.withLock(key, { name, wait: '10s' }, async () => {
        measured.push({ name, outcome: 'acquired', waitedMs: performance.now() - since });
        await delay(2);
      });
    await Promise.all(Array.from({ length: callers }, () => one()));
  },
  decorated: async (times) => {
    for (let i = 0; i < times; i += 1) await app.get(Reports).write(`r${i}`);
  },
  /** A span of the application around one lock. */
  spanned: async ({ key, name }) => {
    const tracer = tracerProvider.getTracer('test');
    await tracer.startActiveSpan('request', async (span) => {
      await locks.withLock(key, { name }, () => delay(5));
      span.end();
    });
  },
  names: async (count) => {
    for (let i = 0; i < count; i += 1) await locks.withLock('many', { name: `name ${i}` }, () => undefined);
  },
  report: async () => {
    await reader.forceFlush();
    const [latest] = exported.getMetrics().slice(-1);
    return {
      measured,
      published,
      prometheus: await registry.metrics(),
      json: await registry.getMetricsAsJSON(),
      otel: latest.scopeMetrics.flatMap(({ metrics }) => metrics),
      spans: spans.getFinishedSpans().map((span) => ({
        name: span.name,
        id: span.spanContext().spanId,
        parent: span.parentSpanContext?.spanId,
        attributes: span.attributes,
        ms: span.duration[0] * 1_000 + span.duration[1] / 1e6,
      })),
    };
  },
};

for (const [name, command] of Object.entries(commands)) {
  parent.on(name as keyof Requests, (data) => {
    void Promise.resolve((command as (given: unknown) => unknown)(data)).then(
      (answer) => parent.send('done', { answer }),
      (error: Error) => parent.send('done', { failed: error.stack ?? error.message }),
    );
  });
}
parent.send('done', { answer: 'ready' });
