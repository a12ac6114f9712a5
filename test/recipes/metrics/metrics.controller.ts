import { Controller, Get, Header, type OnApplicationShutdown } from '@nestjs/common';
import { lockMetrics } from 'nestjs-distribute-lock/prometheus';
import { register } from 'prom-client';

@Controller('metrics')
export class MetricsController implements OnApplicationShutdown {
  private readonly metrics = lockMetrics();

  @Get()
  @Header('content-type', register.contentType)
  text(): Promise<string> {
    return register.metrics();
  }

  onApplicationShutdown(): void {
    this.metrics.stop();
  }
}
