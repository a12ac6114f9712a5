import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Registry } from 'prom-client';

import { DemoMetrics } from './demo-metrics.js';

@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: DemoMetrics) {}

  /** The metrics of the locks of this process, for Prometheus. */
  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  text(): Promise<string> {
    return this.metrics.registry.metrics();
  }
}
