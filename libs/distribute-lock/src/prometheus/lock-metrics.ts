import { Counter, Gauge, Histogram, register, type Registry } from 'prom-client';

import { LockConfigurationError } from '../errors.js';
import { INSTRUMENTS, type Instrument, type Labels } from '../metrics/instruments.js';
import { LockObserver, type MetricsSink } from '../metrics/observe.js';

/** Options of {@link lockMetrics}. @public */
export interface LockMetricsOptions {
  /**
   * The registry that gets the metrics.
   * @defaultValue the default registry of prom-client
   */
  readonly registry?: Registry;
}

/** The running metrics of {@link lockMetrics}. @public */
export interface LockMetrics {
  /** Stops the metrics and removes them from the registry. */
  stop(): void;
}

/**
 * Adds the metrics of all locks of this process to a registry of prom-client. Call it once, before the application starts: decorated
 * locks then appear with zeros. `docs/reference/metrics.md` lists the metrics.
 *
 * @throws LockConfigurationError when prom-client is older than 13.2
 * @throws Error of prom-client when the registry has these metrics already
 * @example
 * ```ts
 * import { lockMetrics } from 'nestjs-distribute-lock/prometheus';
 * import { register } from 'prom-client';
 *
 * lockMetrics();
 * const text = await register.metrics();
 * ```
 * @public
 */
export function lockMetrics({ registry = register }: LockMetricsOptions = {}): LockMetrics {
  if ((Histogram.prototype as Partial<Histogram>).zero === undefined) {
    throw new LockConfigurationError('lockMetrics() needs prom-client 13.2 or later. Update prom-client.');
  }
  const sink: PrometheusSink = new PrometheusSink(registry, () => observer);
  const observer: LockObserver = new LockObserver(sink);
  return {
    stop: () => {
      observer.stop();
      sink.remove();
    },
  };
}

type Metric = Counter | Gauge | Histogram;

class PrometheusSink implements MetricsSink {
  private readonly metrics = new Map<string, Metric>();

  constructor(
    private readonly registry: Registry,
    observer: () => LockObserver,
  ) {
    const collectors: Readonly<Record<string, () => Iterable<readonly [string, number]>>> = {
      oldest: () => observer().oldestWaits(),
      oldestHold: () => observer().oldestHolds(),
    };
    for (const [key, instrument] of Object.entries(INSTRUMENTS)) {
      this.metrics.set(key, newMetric(instrument, registry, collectors[key]));
    }
  }

  add(instrument: keyof typeof INSTRUMENTS, change: number, labels: Labels): void {
    const metric = this.metrics.get(instrument) as Counter | Gauge;
    metric.inc(labelled(INSTRUMENTS[instrument], labels), change);
  }

  record(instrument: keyof typeof INSTRUMENTS, seconds: number, labels: Labels): void {
    (this.metrics.get(instrument) as Histogram).observe(labelled(INSTRUMENTS[instrument], labels), seconds);
  }

  zero(instrument: keyof typeof INSTRUMENTS, labels: Labels): void {
    (this.metrics.get(instrument) as Histogram).zero(labelled(INSTRUMENTS[instrument], labels));
  }

  set(instrument: keyof typeof INSTRUMENTS, value: number, labels: Labels): void {
    (this.metrics.get(instrument) as Gauge).set(labelled(INSTRUMENTS[instrument], labels), value);
  }

  remove(): void {
    for (const instrument of Object.values(INSTRUMENTS)) this.registry.removeSingleMetric(prometheusName(instrument));
  }
}

/** `distribute_lock.wait.duration` in seconds is `distribute_lock_wait_duration_seconds`. */
function prometheusName({ name, type, unit }: Instrument): string {
  const suffix = (unit === 's' ? '_seconds' : '') + (type === 'counter' ? '_total' : '');
  return name.replaceAll('.', '_') + suffix;
}

const prometheusLabel = (label: string): string => label.replaceAll('.', '_');

function labelled({ labels }: Instrument, values: Labels): Record<string, string> {
  return Object.fromEntries(labels.map((label, i) => [prometheusLabel(label), values[i] ?? '']));
}

function newMetric(
  instrument: Instrument,
  registry: Registry,
  values: (() => Iterable<readonly [string, number]>) | undefined,
): Metric {
  const settings = {
    name: prometheusName(instrument),
    help: `${instrument.help}.`,
    labelNames: instrument.labels.map(prometheusLabel),
    registers: [registry],
  };
  if (instrument.type === 'histogram') return new Histogram({ ...settings, buckets: [...(instrument.buckets ?? [])] });
  if (instrument.type === 'counter') return new Counter(settings);
  if (values === undefined) return new Gauge(settings);
  return new Gauge({
    ...settings,
    collect() {
      for (const [name, value] of values()) this.set(labelled(instrument, [name]), value);
    },
  });
}
