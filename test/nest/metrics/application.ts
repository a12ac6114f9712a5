import type { AcquireOptions } from 'nestjs-distribute-lock';

import { type SecondProcess, startProcess } from '../../support/second-process.js';

export interface Acquire extends AcquireOptions {
  readonly key: string | string[];
  readonly name: string;
}

/** What the application measured itself: one call. */
export interface Measured {
  readonly name: string;
  /** `acquired`, or the code of the error. */
  readonly outcome: string;
  readonly waitedMs: number;
}

export type Requests = {
  acquire: Acquire;
  /** Calls that are not measured. */
  warm: number;
  release: string;
  line: { readonly key: string; readonly name: string; readonly callers: number };
  decorated: number;
  spanned: { readonly key: string; readonly name: string };
  names: number;
  report: undefined;
};

export type Responses = { done: { readonly answer?: unknown; readonly failed?: string } };

/** The messages of the channels: waits with the outcome of the metrics, and the lag of each renewal. */
export interface Published {
  readonly waits: readonly Measured[];
  readonly lagsMs: readonly number[];
}

export interface SpanReport {
  readonly name: string;
  readonly id: string;
  readonly parent?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly ms: number;
}

/** A value of a counter, gauge or histogram with its labels. Prometheus and OpenTelemetry are read into the same form. */
export interface Point {
  readonly labels: Readonly<Record<string, string>>;
  /** The value, or the sum of a histogram in seconds. */
  readonly value: number;
  readonly count?: number;
  /** Cumulative counts by upper bound, seconds. */
  readonly buckets?: ReadonlyMap<number, number>;
}

export type Metrics = ReadonlyMap<string, readonly Point[]>;

export interface Report {
  readonly measured: readonly Measured[];
  /** What the channels said of the same process. */
  readonly published: Published;
  readonly text: string;
  readonly prometheus: Metrics;
  readonly otel: Metrics;
  /** Units of OpenTelemetry, by metric. */
  readonly units: ReadonlyMap<string, string>;
  readonly spans: readonly SpanReport[];
}

interface PromMetric {
  readonly name: string;
  readonly type: string;
  readonly values: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
    readonly metricName?: string;
  }[];
}

interface OtelMetric {
  readonly descriptor: { readonly name: string; readonly unit: string };
  readonly dataPoints: readonly {
    readonly attributes: Readonly<Record<string, string>>;
    readonly value:
      | number
      | {
          readonly sum: number;
          readonly count: number;
          readonly buckets: { readonly boundaries: readonly number[]; readonly counts: readonly number[] };
        };
  }[];
}

/** A Nest application in a separate process, with a registry of prom-client and an OpenTelemetry SDK. */
export class Application {
  private constructor(private readonly process: SecondProcess<Responses, Requests>) {}

  static async start(url: string, prefix: string): Promise<Application> {
    const script = new URL('./application.child.ts', import.meta.url);
    const app = new Application(startProcess<Responses, Requests>(script, { REDIS_URL: url, PREFIX: prefix }));
    await app.done();
    return app;
  }

  /** Commands of one process run one after the other, unless the caller does not wait for the answer. */
  async do<Name extends keyof Requests>(name: Name, data: Requests[Name]): Promise<unknown> {
    this.process.send(name, data);
    return this.done();
  }

  async kill(): Promise<void> {
    await this.process.kill();
  }

  async report(): Promise<Report> {
    const { prometheus, json, otel, spans, ...rest } = (await this.do('report', undefined)) as {
      readonly measured: readonly Measured[];
      readonly published: Published;
      readonly prometheus: string;
      readonly json: readonly PromMetric[];
      readonly otel: readonly OtelMetric[];
      readonly spans: readonly SpanReport[];
    };
    const units = new Map(otel.map(({ descriptor: { name, unit } }) => [name, unit]));
    return { ...rest, text: prometheus, prometheus: fromPrometheus(json), otel: fromOtel(otel), units, spans };
  }

  private async done(): Promise<unknown> {
    const { answer, failed } = await this.process.once('done');
    if (failed !== undefined) throw new Error(failed);
    return answer;
  }
}

function fromPrometheus(metrics: readonly PromMetric[]): Metrics {
  return new Map(metrics.map((metric) => [metric.name, pointsOf(metric)]));
}

function pointsOf({ name, type, values }: PromMetric): Point[] {
  if (type !== 'histogram') return values.map(({ labels, value }) => ({ labels, value }));
  const counts = values.filter(({ metricName }) => metricName === `${name}_count`);
  return counts.map(({ labels, value: count }) => {
    const same = (other: Readonly<Record<string, string>>): boolean =>
      Object.entries(labels).every(([label, value]) => other[label] === value);
    const own = values.filter((value) => same(value.labels));
    const buckets = own.filter(({ metricName }) => metricName === `${name}_bucket`);
    return {
      labels,
      count,
      value: own.find(({ metricName }) => metricName === `${name}_sum`)!.value,
      buckets: new Map(buckets.map(({ labels: { le }, value }) => [le === '+Inf' ? Infinity : Number(le), value])),
    };
  });
}

function fromOtel(metrics: readonly OtelMetric[]): Metrics {
  return new Map(
    metrics.map(({ descriptor, dataPoints }) => [
      descriptor.name,
      dataPoints.map(({ attributes, value }): Point => {
        if (typeof value === 'number') return { labels: attributes, value };
        const { boundaries, counts } = value.buckets;
        let before = 0;
        const buckets = new Map(boundaries.map((bound, i) => [bound, (before += counts[i])]));
        return { labels: attributes, value: value.sum, count: value.count, buckets };
      }),
    ]),
  );
}
