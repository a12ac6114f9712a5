import type { Attributes, Counter, Histogram, Meter, ObservableGauge, ObservableResult } from '@opentelemetry/api';

import { INSTRUMENTS, type Instrument, type Labels } from '../metrics/instruments.js';
import type { LockObserver, MetricsSink } from '../metrics/observe.js';

type Name = keyof typeof INSTRUMENTS;

/** Writes to the instruments of one meter. */
export class OtelSink implements MetricsSink {
  private readonly counters = new Map<Name, Pick<Counter, 'add'>>();
  private readonly histograms = new Map<Name, Histogram>();
  private readonly gauges = new Map<Name, ObservableGauge>();
  /** The latest values of gauges that are set: by labels. */
  private readonly values = new Map<Name, Map<string, readonly [Labels, number]>>();

  constructor(meter: Meter) {
    for (const [key, instrument] of Object.entries(INSTRUMENTS) as [Name, Instrument][]) {
      const { name, help: description, unit, buckets } = instrument;
      const options = { description, unit };
      if (instrument.type === 'histogram') {
        const advice = { explicitBucketBoundaries: [...(buckets ?? [])] };
        this.histograms.set(key, meter.createHistogram(name, { ...options, advice }));
      } else if (instrument.type === 'counter') this.counters.set(key, meter.createCounter(name, options));
      else if (instrument.type === 'up-down') this.counters.set(key, meter.createUpDownCounter(name, options));
      else this.gauges.set(key, meter.createObservableGauge(name, options));
    }
  }

  /** Lets the SDK read the gauges, until the returned function is called. */
  observe(observer: LockObserver): () => void {
    const callbacks: Readonly<Partial<Record<Name, (result: ObservableResult) => void>>> = {
      oldest: (result) => observeAll(result, 'oldest', observer.oldestWaits()),
      oldestHold: (result) => observeAll(result, 'oldestHold', observer.oldestHolds()),
      degraded: (result) => {
        for (const [labels, value] of this.values.get('degraded')?.values() ?? [])
          result.observe(value, attributes('degraded', labels));
      },
    };
    for (const [name, gauge] of this.gauges) gauge.addCallback(callbacks[name]!);
    return () => {
      for (const [name, gauge] of this.gauges) gauge.removeCallback(callbacks[name]!);
    };
  }

  add(instrument: Name, change: number, labels: Labels): void {
    this.counters.get(instrument)?.add(change, attributes(instrument, labels));
  }

  record(instrument: Name, seconds: number, labels: Labels): void {
    this.histograms.get(instrument)?.record(seconds, attributes(instrument, labels));
  }

  /** OpenTelemetry has no histograms without values. */
  zero(): void {}

  set(instrument: Name, value: number, labels: Labels): void {
    const values = this.values.get(instrument) ?? new Map<string, readonly [Labels, number]>();
    this.values.set(instrument, values.set(labels.join('\n'), [labels, value]));
  }
}

function observeAll(result: ObservableResult, name: Name, values: Iterable<readonly [string, number]>): void {
  for (const [lock, seconds] of values) result.observe(seconds, attributes(name, [lock]));
}

/** An empty value means that the attribute is absent. */
function attributes(name: Name, values: Labels): Attributes {
  const { labels } = INSTRUMENTS[name];
  return Object.fromEntries(labels.flatMap((label, i) => (values[i] ? [[label, values[i]]] : [])));
}
