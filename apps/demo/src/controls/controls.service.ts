import { Injectable, NotFoundException } from '@nestjs/common';

import { EMPTY_BOARD, type JobReport, withReport } from '../jobs/job-board.js';
import { askParent, type DemoState, hasParent, onDemoState } from '../process/parent.js';
import { DemoSettings } from '../settings/demo-settings.js';
import type { RequestKind, SendDto } from './controls.dto.js';

const ANSWERS_WITHIN_MS = 30_000;

/** The answer of one instance to one request. */
export interface DemoAnswer {
  readonly instance: string;
  readonly status: number;
  readonly text: string;
}

/** Sends requests to the instances, and requests of the page to the starter. */
@Injectable()
export class ControlsService {
  state: DemoState;

  constructor(private readonly settings: DemoSettings) {
    const { inMemory } = settings;
    this.state = {
      instances: [],
      redis: inMemory ? 'memory' : 'given',
      redisPaused: false,
      shared: inMemory,
      jobs: EMPTY_BOARD,
    };
    onDemoState((state) => (this.state = state));
  }

  async send({ kind, to, count, workMs }: SendDto): Promise<DemoAnswer[]> {
    const targets = this.state.instances.filter(({ name, running }) => running && to.includes(name));
    const requests = targets.flatMap(({ name, url }) =>
      Array.from({ length: count }, () => request(name, url, kind, workMs)),
    );
    return Promise.all(requests);
  }

  control(type: 'stop' | 'start' | 'restart', instance: string): void {
    const { instances, shared } = this.state;
    const isOwn = instance === this.settings.instance;
    // The page would lose its server, and with it the control that starts it again.
    if (shared || (isOwn && type === 'stop') || !instances.some(({ name }) => name === instance)) {
      throw new NotFoundException(`Instance ${instance} cannot do that here.`);
    }
    askParent({ type, instance });
  }

  /** Shows what a job of this instance did on the pages of all instances. */
  report(report: JobReport): void {
    if (hasParent()) askParent({ type: 'job', report });
    else this.state = { ...this.state, jobs: withReport(this.state.jobs, report) };
  }

  pauseRedis(): void {
    if (this.state.redis !== 'private') throw new NotFoundException('The demo has not started this Redis.');
    askParent({ type: 'pause-redis' });
  }
}

const ROUTES: Readonly<Record<RequestKind, readonly [method: string, path: string, body: object]>> = {
  exclusive: ['POST', '/post-test', { channel: 'web' }],
  wait: ['POST', '/post-test/wait', { channel: 'web' }],
  read: ['GET', '/catalog/1', {}],
  write: ['PUT', '/catalog/1', {}],
  semaphore: ['POST', '/exports', {}],
  unlocked: ['POST', '/unlocked', {}],
  stale: ['POST', '/fenced-write', { amount: 10, staleToken: true }],
};

async function request(instance: string, url: string, kind: RequestKind, workMs: number): Promise<DemoAnswer> {
  const [method, path, body] = ROUTES[kind];
  const isRead = method === 'GET';
  const sent = kind === 'stale' ? body : { ...body, workMs };
  try {
    const response = await fetch(`${url}${path}${isRead ? `?workMs=${workMs}` : ''}`, {
      method,
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
      // After a pause of this process, the server may have closed an idle connection.
      headers: { 'content-type': 'application/json', connection: 'close' },
      ...(isRead ? {} : { body: JSON.stringify(sent) }),
    });
    const answer = (await response.json().catch(() => ({}))) as { message?: string };
    return { instance, status: response.status, text: answer.message ?? '' };
  } catch (error) {
    return { instance, status: 0, text: error instanceof Error ? error.message : String(error) };
  }
}
