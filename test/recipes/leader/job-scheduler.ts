import { setInterval } from 'node:timers/promises';

import { Injectable } from '@nestjs/common';
import { Leader, type LeaderTerm } from 'nestjs-distribute-lock';

import { DueJobs } from './due-jobs.js';

@Injectable()
export class JobScheduler {
  constructor(private readonly jobs: DueJobs) {}

  /** The leader looks for due jobs once in a second, until its term ends. */
  @Leader({ key: 'job-scheduler' })
  async lead({ signal, fencingToken }: LeaderTerm): Promise<void> {
    for await (const _ of setInterval(1_000, undefined, { signal })) await this.jobs.enqueueDue(fencingToken);
  }
}
