import { Controller, Get, Header } from '@nestjs/common';
import { lockMetrics } from 'nestjs-distribute-lock/prometheus';
import { register } from 'prom-client';

lockMetrics();

@Controller('metrics')
export class MetricsController {
  @Get()
  @Header('content-type', register.contentType)
  text(): Promise<string> {
    return register.metrics();
  }
}
