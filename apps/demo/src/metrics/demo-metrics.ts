import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { lockMetrics } from 'nestjs-distribute-lock/prometheus';
import { Registry } from 'prom-client';

/** The metrics of this application. Created before Nest starts it, so that all decorated locks appear with zeros. */
@Injectable()
export class DemoMetrics implements OnApplicationShutdown {
  readonly registry = new Registry();
  private readonly locks = lockMetrics({ registry: this.registry });

  onApplicationShutdown(): void {
    this.locks.stop();
  }
}
