import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Test } from '@nestjs/testing';
import { LockModule, LockService } from 'nestjs-distribute-lock';

import { onCleanup } from '../support/cleanup.js';
import { useRedis } from '../support/use-redis.js';
import { type Span, traceLocks } from './metrics/lock-tracing.js';
import { MetricsController } from './metrics/metrics.controller.js';

describe('recipe: metrics and traces', () => {
  const redis = useRedis();
  let locks: LockService;
  let url: string;

  beforeAll(async () => {
    const imports = [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })];
    const module = await Test.createTestingModule({ imports, controllers: [MetricsController] }).compile();
    const app = module.createNestApplication({ logger: false });
    onCleanup(() => app.close());
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
    locks = app.get(LockService);
  });

  it('serves the metrics for Prometheus', async () => {
    await locks.withLock('secret', { name: 'orders' }, () => undefined);
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toContain('text/plain');
    const text = await response.text();
    expect(text).toMatch(/^distribute_lock_wait_duration_seconds_count\{lock_name="orders",.*\} 1$/m);
    expect(text).not.toContain('secret');
  });

  it('sends metrics and spans to an OTLP collector', async () => {
    const received = new Map<string, string>();
    const collector = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const before = received.get(request.url!) ?? '';
        received.set(request.url!, before + Buffer.concat(chunks).toString('latin1'));
        response.setHeader('content-type', 'application/json').end('{}');
      });
    }).listen(0, '127.0.0.1');
    onCleanup(() => void collector.close());
    await once(collector, 'listening');
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    const { stopTelemetry } = await import('./metrics/telemetry.js');
    await locks.withLock('secret', { name: 'orders' }, () => undefined);
    await stopTelemetry();

    expect([...received.keys()].sort()).toEqual(['/v1/metrics', '/v1/traces']);
    expect(received.get('/v1/metrics')).toContain('distribute_lock.wait.duration');
    expect(received.get('/v1/traces')).toContain('acquire orders');
    expect(received.get('/v1/traces')).toContain('hold orders');
    expect([...received.values()].join('')).not.toContain('secret');
  });

  it('traces locks with the tracer of another agent', async () => {
    const spans: { name: string; tags: Record<string, unknown>; finished: boolean }[] = [];
    const stop = traceLocks({
      startSpan(name, { tags }): Span {
        const span = { name, tags: { ...tags }, finished: false };
        spans.push(span);
        return { addTags: (more) => Object.assign(span.tags, more), finish: () => void (span.finished = true) };
      },
    });
    const lease = await locks.acquire('secret', { name: 'orders' });
    expect(spans.map(({ name, finished }) => [name, finished])).toEqual([
      ['lock.acquire', true],
      ['lock.hold', false],
    ]);
    await lease.release();
    stop();
    const { fencingToken } = lease;
    expect(spans[1]).toMatchObject({
      finished: true,
      tags: { 'resource.name': 'orders', 'lock.outcome': 'released', 'lock.fencing_token': fencingToken },
    });
  });
});
