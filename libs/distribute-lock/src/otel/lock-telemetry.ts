import { type MeterProvider, metrics, trace, type TracerProvider } from '@opentelemetry/api';

import { LockObserver } from '../metrics/observe.js';
import { OtelSink } from './otel-sink.js';
import { LockSpans } from './lock-spans.js';

const SCOPE = 'nestjs-distribute-lock';

/** Options of {@link lockTelemetry}. @public */
export interface LockTelemetryOptions {
  /**
   * The provider of the meter; `false` for no metrics.
   * @defaultValue the global one
   */
  readonly meterProvider?: MeterProvider | false;
  /**
   * The provider of the tracer; `false` for no spans.
   * @defaultValue the global one
   */
  readonly tracerProvider?: TracerProvider | false;
}

/** The running metrics and spans of {@link lockTelemetry}. @public */
export interface LockTelemetry {
  /** Stops the metrics and spans. */
  stop(): void;
}

/**
 * Reports all locks of this process to OpenTelemetry: metrics, and the spans `acquire <name>` and `hold <name>`. Call it once, after
 * the SDK was registered and before the application starts. `docs/reference/metrics.md` lists metrics and attributes.
 *
 * @example
 * ```ts
 * import { lockTelemetry } from 'nestjs-distribute-lock/otel';
 *
 * lockTelemetry();
 * ```
 * @public
 */
export function lockTelemetry({ meterProvider, tracerProvider }: LockTelemetryOptions = {}): LockTelemetry {
  const stops: (() => void)[] = [];
  if (meterProvider !== false) {
    const sink = new OtelSink((meterProvider ?? metrics).getMeter(SCOPE));
    const observer = new LockObserver(sink);
    const stopGauges = sink.observe(observer);
    stops.push(() => observer.stop(), stopGauges);
  }
  if (tracerProvider !== false) {
    const spans = new LockSpans((tracerProvider ?? trace).getTracer(SCOPE));
    stops.push(() => spans.stop());
  }
  return { stop: () => stops.forEach((stop) => stop()) };
}
