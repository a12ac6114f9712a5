import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
// A namespace, because a name that an older release lacks would end the import with an error of the loader.
import * as api from '@opentelemetry/api';

import { LockConfigurationError } from '../errors.js';
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
 * @throws LockConfigurationError when `@opentelemetry/api` is older than 1.3 and has no metrics, unless `meterProvider` is false
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
    if (!('metrics' in api)) {
      throw new LockConfigurationError(
        'lockTelemetry() needs @opentelemetry/api 1.3 or later for metrics. Update it, or set "meterProvider" to false.',
      );
    }
    const sink = new OtelSink((meterProvider ?? api.metrics).getMeter(SCOPE));
    const observer = new LockObserver(sink);
    const stopGauges = sink.observe(observer);
    stops.push(() => observer.stop(), stopGauges);
  }
  if (tracerProvider !== false) {
    const spans = new LockSpans((tracerProvider ?? api.trace).getTracer(SCOPE));
    stops.push(() => spans.stop());
  }
  return { stop: () => stops.forEach((stop) => stop()) };
}
