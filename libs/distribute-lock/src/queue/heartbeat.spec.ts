import { ManualClock } from '../../../../test/support/manual-clock.js';
import { TimerLanes } from '../runtime/timer-lanes.js';
import type { Attempt } from './attempt.js';
import { HEARTBEAT_MS, SharedHeartbeat } from './heartbeat.js';
import type { KeyQueue } from './key-queue.js';

describe('SharedHeartbeat', () => {
  function make() {
    const clock = new ManualClock();
    const asked: string[] = [];
    const waiting = ['first', 'second'].map((ownerToken) => ({ ownerToken, asksForAll: false, askedAt: 0 }) as Attempt);
    const queue = {
      get longestQueued() {
        return waiting[0];
      },
    } as KeyQueue;
    const ask = ({ ownerToken }: Attempt): void => void asked.push(ownerToken);
    const heartbeat = new SharedHeartbeat(queue, new TimerLanes(clock), clock, ask);
    return { clock, asked, waiting, heartbeat };
  }

  it('asks for the attempt that was queued first, and for the next one when that has gone unanswered', async () => {
    const { clock, asked, waiting, heartbeat } = make();
    heartbeat.within(100, clock.now());
    await clock.pass(100);
    expect(waiting[0].asksForAll).toBe(true);
    waiting.shift();
    await clock.pass(HEARTBEAT_MS);
    expect(asked).toEqual(['first', 'second']);
  });

  it('asks at once for an attempt that has not asked for long, when the one before it ends', async () => {
    const { clock, asked, waiting, heartbeat } = make();
    heartbeat.within(HEARTBEAT_MS, clock.now());
    await clock.pass(HEARTBEAT_MS);
    waiting.shift();
    heartbeat.passOn();
    await clock.pass(1);
    expect(asked).toEqual(['first', 'second']);
  });

  it('comes no later for a newcomer', async () => {
    const { clock, asked, heartbeat } = make();
    heartbeat.within(100, clock.now());
    await clock.pass(50);
    heartbeat.within(100, clock.now());
    await clock.pass(50);
    expect(asked).toEqual(['first']);
  });

  it('ends with the last attempt', async () => {
    const { clock, asked, waiting, heartbeat } = make();
    heartbeat.within(100, clock.now());
    waiting.length = 0;
    await clock.pass(10_000);
    expect(asked).toEqual([]);
    expect(heartbeat.lane).toBeUndefined();
  });
});
