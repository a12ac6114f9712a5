import { once } from 'node:events';

import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { DistributeLock, Leader, type LeaderTerm } from 'nestjs-distribute-lock';

import { ControlsService } from '../controls/controls.service.js';
import { DemoSettings } from '../settings/demo-settings.js';
import type { JobReport } from './job-board.js';

const INTERVAL_S = 5;

/** A job that runs once per tick on all instances together, and work that one instance leads. The page shows both. */
@Injectable()
export class JobsService {
  private readonly logger = new Logger('jobs');

  constructor(
    private readonly settings: DemoSettings,
    private readonly controls: ControlsService,
  ) {}

  @Cron(`*/${INTERVAL_S} * * * * *`, { name: 'demo-tick', timeZone: 'UTC' })
  @DistributeLock({ key: 'demo-tick', once: 'tick', onContended: 'skip', ttl: '5s' })
  async tick(): Promise<void> {
    const intervalMs = INTERVAL_S * 1_000;
    const at = new Date(Math.floor(Date.now() / intervalMs) * intervalMs).toISOString();
    this.report({ type: 'tick', at, instance: this.settings.instance });
  }

  @Leader({ key: 'demo-leader', ttl: '5s' })
  async lead({ signal, fencingToken }: LeaderTerm): Promise<void> {
    const { instance } = this.settings;
    this.logger.log(`instance ${instance} leads, fencing token ${fencingToken}`);
    this.report({ type: 'leads', instance });
    if (!signal.aborted) await once(signal, 'abort');
    this.report({ type: 'leads-no-more', instance });
  }

  private report(report: JobReport): void {
    this.controls.report(report);
  }
}
