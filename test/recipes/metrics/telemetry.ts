import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { lockTelemetry } from 'nestjs-distribute-lock/otel';

// Both exporters read OTEL_EXPORTER_OTLP_ENDPOINT; its default is http://localhost:4318.
const reader = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() });
const meterProvider = new MeterProvider({ readers: [reader] });
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });

// An application that registers its providers globally, as NodeSDK does, calls lockTelemetry() without options.
const telemetry = lockTelemetry({ meterProvider, tracerProvider });

export async function stopTelemetry(): Promise<void> {
  telemetry.stop();
  await Promise.all([meterProvider.shutdown(), tracerProvider.shutdown()]);
}
