import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';

import type { LockPresence } from '../engine/census.js';
import { LockEvents } from '../events.js';
import { LockDashboard } from './lock-dashboard.js';
import type { ViewDelta } from './page-view.js';

const BEGIN = 1_700_000_000_000;
const STALL_MS = 65;

describe('LockDashboard', () => {
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  it('draws the bars of this instance at their times, also after a stall between two looks at the clock', () => {
    jest.useFakeTimers({ now: BEGIN });
    jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
    let censuses = 0;
    const hold: LockPresence = {
      ...{ key: 'job', kind: 'exclusive', holders: 1, name: 'Jobs.run', since: 0, until: 30_000 },
      ...{ waiting: 0, waitingSince: Infinity },
    };
    const engine = {
      clock: { now: () => Date.now() - BEGIN },
      census(): LockPresence[] {
        censuses += 1;
        // The first one starts the record, the second one is for the first summary.
        if (censuses === 2) jest.setSystemTime(Date.now() + STALL_MS);
        return [hold];
      },
      hints: () => undefined,
    };
    const modules = { get: () => new Map([['default', engine]]) } as unknown as ModuleRef;
    const dashboard = new LockDashboard({ guard: 'loopback', instance: 'one' }, new LockEvents(), modules);
    dashboard.onModuleInit();
    const deltas: ViewDelta[] = [];
    const send = (event: string, words: ViewDelta): void => void (event === 'delta' && deltas.push(words));
    const request = { page: 0, sort: 'age', descending: true, filter: '' } as const;
    dashboard.open(request, { ready: true, send, end: () => undefined });
    jest.advanceTimersByTime(2_000);
    dashboard.beforeApplicationShutdown();

    const starts = deltas.flatMap(({ bars = [] }) => bars as unknown[][]).map((words) => Number(words[4]) - BEGIN);
    expect(new Set(starts)).toEqual(new Set([0]));
  });
});
