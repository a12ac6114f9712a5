import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TerminusModule } from '@nestjs/terminus';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { LockModule } from 'nestjs-distribute-lock';
import { LockDashboardModule } from 'nestjs-distribute-lock/dashboard';
import { LockHealthIndicator } from 'nestjs-distribute-lock/terminus';

import { CatalogController } from '../catalog/catalog.controller.js';
import { ClicksController } from '../clicks/clicks.controller.js';
import { ControlsController } from '../controls/controls.controller.js';
import { ControlsService } from '../controls/controls.service.js';
import { ExportsController } from '../exports/exports.controller.js';
import { HealthController } from '../health/health.controller.js';
import { HomeController } from '../home/home.controller.js';
import { JobsService } from '../jobs/jobs.service.js';
import { LedgerController } from '../ledger/ledger.controller.js';
import { Ledger } from '../ledger/ledger.js';
import { LedgerService } from '../ledger/ledger.service.js';
import { DemoMetrics } from '../metrics/demo-metrics.js';
import { MetricsController } from '../metrics/metrics.controller.js';
import { OrdersController } from '../orders/orders.controller.js';
import { OrdersService } from '../orders/orders.service.js';
import { PostTestController } from '../post-test/post-test.controller.js';
import { RemindersController } from '../reminders/reminders.controller.js';
import { ReportsController } from '../reports/reports.controller.js';
import { SeatsController } from '../seats/seats.controller.js';
import { DemoSettings } from '../settings/demo-settings.js';
import { TransfersController } from '../transfers/transfers.controller.js';
import { UnlockedController } from '../unlocked/unlocked.controller.js';
import { WorkService } from '../work/work.service.js';

/** Requests of one address per second: more than a person or a test sends, so contention causes 409 instead of 429. */
const REQUESTS_PER_SECOND = 2_000;

const CONTROLLERS = [
  HomeController,
  HealthController,
  MetricsController,
  PostTestController,
  ReportsController,
  OrdersController,
  ClicksController,
  LedgerController,
  CatalogController,
  ExportsController,
  TransfersController,
  RemindersController,
  SeatsController,
  UnlockedController,
  ControlsController,
];

@Module({})
export class AppModule {
  static forRoot(settings: DemoSettings): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ThrottlerModule.forRoot([{ ttl: 1_000, limit: REQUESTS_PER_SECOND }]),
        ScheduleModule.forRoot(),
        TerminusModule.forRoot({ logger: false }),
        LockModule.forRoot({ connection: settings.connection, prefix: settings.prefix }),
        LockDashboardModule.forRoot({
          guard: 'loopback',
          instance: `instance ${settings.instance}`,
          showKeys: true,
          allowForceRelease: true,
        }),
      ],
      controllers: CONTROLLERS,
      providers: [
        { provide: APP_GUARD, useClass: ThrottlerGuard },
        { provide: DemoSettings, useValue: settings },
        DemoMetrics,
        LockHealthIndicator,
        WorkService,
        ControlsService,
        JobsService,
        OrdersService,
        Ledger,
        LedgerService,
      ],
    };
  }
}
