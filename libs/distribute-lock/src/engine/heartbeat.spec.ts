import { ManualClock } from '../../../../test/support/manual-clock.js';
import { Timers } from '../runtime/timers.js';
import { HEARTBEAT_MS, SharedHeartbeat } from './heartbeat.js';
import { Attempt, type KeyState, type WaitList } from './key-state.js';

describe('SharedHeartbeat', () => {
  function make(...tokens: string[]) {
    const clock = new ManualClock();
    const sent: string[] = [];
    const waiting = tokens.map((ownerToken) => new Attempt({} as WaitList, ownerToken, 0, () => undefined));
    for (const attempt of waiting) attempt.lastSentAt = clock.now();
    const state = {
      get longestQueued() {
        return waiting[0];
      },
      get shortestQueued() {
        return waiting.at(-1);
      },
    } as KeyState;
    const context = { clock, timers: new Timers(clock) };
    const heartbeat = new SharedHeartbeat(state, context, (attempt) => {
      sent.push(attempt.ownerToken);
      attempt.lastSentAt = clock.now();
    });
    for (const attempt of waiting) heartbeat.joined(attempt);
    heartbeat.within(HEARTBEAT_MS);
    const leave = (index: number): void => {
      const [attempt] = waiting.splice(index, 1);
      attempt.end();
      heartbeat.left(attempt);
    };
    return { clock, sent, waiting, heartbeat, leave };
  }

  it('asks for the attempt that was queued first, and for the last one if the store has kept the places', async () => {
    const { clock, sent, waiting, heartbeat } = make('a', 'b', 'c');
    await clock.pass(HEARTBEAT_MS);
    expect(sent).toEqual(['a']);
    heartbeat.sendLast();
    expect(sent).toEqual(['a', 'c']);
    expect(waiting.map(({ speaksForAll }) => speaksForAll)).toEqual([true, false, false]);
  });

  it('asks again after the attempt has left', async () => {
    const { clock, sent, heartbeat, leave } = make('a', 'b', 'c');
    await clock.pass(HEARTBEAT_MS);
    heartbeat.sendLast();
    leave(0);
    await clock.pass(HEARTBEAT_MS);
    expect(sent).toEqual(['a', 'c', 'b']);
  });

  it('sends another attempt when its attempts have left', async () => {
    const { clock, sent, heartbeat, leave } = make('a', 'b', 'c', 'd');
    await clock.pass(HEARTBEAT_MS);
    heartbeat.sendLast();
    leave(0);
    await clock.pass(1);
    expect(sent).toEqual(['a', 'd']);
    leave(2);
    await clock.pass(1);
    expect(sent).toEqual(['a', 'd', 'b']);
  });

  it('asks at once when the attempt leaves without an answer and no other was sent recently', async () => {
    const { clock, sent, leave } = make('a', 'b', 'c');
    await clock.pass(HEARTBEAT_MS);
    leave(0);
    await clock.pass(1);
    expect(sent).toEqual(['a', 'b']);
  });

  it('is not delayed by a new attempt', async () => {
    const { clock, sent, waiting, heartbeat } = make('a');
    await clock.pass(HEARTBEAT_MS - 100);
    heartbeat.joined(waiting[0]);
    heartbeat.within(HEARTBEAT_MS);
    await clock.pass(100);
    expect(sent).toEqual(['a']);
  });

  it('ends with the last attempt', async () => {
    const { clock, sent, leave, heartbeat } = make('a');
    leave(0);
    expect(heartbeat.isScheduled).toBe(false);
    await clock.pass(10 * HEARTBEAT_MS);
    expect(sent).toEqual([]);
  });
});
