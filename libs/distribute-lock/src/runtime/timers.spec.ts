import { jest } from '@jest/globals';

import { ManualClock } from '../../../../test/support/manual-clock.js';
import { Timer, Timers } from './timers.js';

class NamedTimer extends Timer {
  constructor(
    private readonly name: string,
    private readonly log: string[],
    private readonly then?: () => void,
  ) {
    super();
  }

  due(): void {
    this.log.push(this.name);
    this.then?.();
  }
}

describe('Timers', () => {
  const make = () => {
    const clock = new ManualClock();
    const log: string[] = [];
    const timers = new Timers(clock);
    return { clock, log, timers, timer: (name: string, then?: () => void) => new NamedTimer(name, log, then) };
  };

  it('calls each timer once, in the order of their times, on one timer of the clock', async () => {
    const { clock, log, timers, timer } = make();
    timers.add(timer('late'), 300);
    timers.add(timer('early'), 100);
    timers.add(timer('also late'), 300);
    expect(clock.pending).toBe(1);
    await clock.pass(99);
    expect(log).toEqual([]);
    await clock.pass(1);
    expect(log).toEqual(['early']);
    await clock.pass(1_000);
    expect(log).toEqual(['early', 'late', 'also late']);
    expect(clock.pending).toBe(0);
  });

  it('calls timers with different delays in the order of their times, after a late tick too', async () => {
    const { clock, log, timers, timer } = make();
    timers.add(timer('300'), 300);
    timers.add(timer('100'), 100);
    timers.add(timer('200'), 200);
    clock.jump(1_000);
    await clock.pass(0);
    expect(log).toEqual(['100', '200', '300']);
  });

  it('calls timers that are due at the same time in the order in which they were added', async () => {
    const { clock, log, timers, timer } = make();
    const pass = () => clock.pass(1);
    for (let delay = 50; delay > 0; delay -= 1) {
      timers.add(timer(`${delay} a`), delay);
      timers.add(timer(`${delay} b`), delay);
      await pass();
    }
    expect(log).toEqual(Array.from({ length: 50 }, (_, i) => [`${50 - i} a`, `${50 - i} b`]).flat());
  });

  it('calls the rest of many timers with different delays when most were removed', async () => {
    const { clock, log, timers, timer } = make();
    const entries = Array.from({ length: 500 }, (_, i) => timer(String(i)));
    entries.forEach((entry, i) => timers.add(entry, 1_000 - i));
    entries.forEach((entry, i) => i % 50 !== 0 && timers.remove(entry));
    await clock.pass(1_000);
    expect(log).toEqual(['450', '400', '350', '300', '250', '200', '150', '100', '50', '0']);
  });

  it('calls a timer in time although its delay was in use for a later one', async () => {
    const { clock, log, timers, timer } = make();
    const removed = timer('removed');
    timers.add(removed, 100, clock.now() + 50);
    timers.remove(removed);
    timers.add(timer('other'), 120);
    timers.add(timer('kept'), 100);
    await clock.pass(100);
    expect(log).toEqual(['kept']);
  });

  it('spends no more on a due timer when 36,000 timers have different delays than when 36 have', async () => {
    /** The least time for 20 due timers, in microseconds; a busy machine interrupts only some of the rounds. */
    const leastUs = async (delays: number): Promise<number> => {
      const { clock, timers, timer } = make();
      let due = 0;
      for (let i = 0; i < delays; i += 1) timers.add(timer(''), 100_000 + i);
      const times: number[] = [];
      for (let round = 0; round < 50; round += 1) {
        for (let i = 1; i <= 20; i += 1)
          timers.add(
            timer('', () => (due += 1)),
            i,
          );
        const startedAt = performance.now();
        await clock.pass(20);
        times.push((performance.now() - startedAt) * 1_000);
      }
      expect(due).toBe(1_000);
      return Math.min(...times);
    };
    expect(await leastUs(36_000)).toBeLessThan(4 * (await leastUs(36)));
  });

  it('drops a removed timer at any position', async () => {
    const { clock, log, timers, timer } = make();
    const entries = ['a', 'b', 'c', 'd'].map((name) => timer(name));
    for (const each of entries) timers.add(each, 50);
    for (const at of [1, 0, 3]) timers.remove(entries[at]);
    timers.remove(entries[0]);
    await clock.pass(100);
    expect(log).toEqual(['c']);
  });

  it.each([0, 1, 2])('removes the timer at position %i again after it was moved to another delay', async (at) => {
    const { clock, log, timers, timer } = make();
    const entries = ['a', 'b', 'c'].map((name) => timer(name));
    for (const each of entries) timers.add(each, 50);
    timers.add(entries[at], 20);
    timers.remove(entries[at]);
    await clock.pass(100);
    expect(log).toEqual(['a', 'b', 'c'].filter((_, i) => i !== at));
  });

  it('moves a timer that is added again', async () => {
    const { clock, log, timers, timer } = make();
    const moved = timer('moved');
    timers.add(moved, 10);
    timers.add(moved, 200);
    await clock.pass(100);
    expect(log).toEqual([]);
    await clock.pass(100);
    expect(log).toEqual(['moved']);
  });

  it('accepts timers that are added while other timers are due', async () => {
    const { clock, log, timers, timer } = make();
    timers.add(
      timer('first', () => timers.add(timer('second'), 5)),
      10,
    );
    await clock.pass(20);
    expect(log).toEqual(['first', 'second']);
  });

  it('calls no entry after it was closed', async () => {
    const { clock, log, timers, timer } = make();
    for (let i = 0; i < 40; i += 1) timers.add(timer(String(i)), i);
    timers.close();
    await clock.pass(100);
    expect(log).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('notifies its entries when it is closed, and later entries at once', async () => {
    const { clock, log, timers, timer } = make();
    const forgettable = (name: string): Timer => {
      const made = timer(name);
      made.forgotten = (wasScheduled) => {
        log.push(`${name} ${wasScheduled}`);
        if (wasScheduled) timers.add(made, 10);
      };
      return made;
    };
    for (const name of ['first', 'second']) timers.add(forgettable(name), 100);
    timers.close();
    timers.add(forgettable('third'), 100);
    await clock.pass(200);
    expect(log).toEqual(['first true', 'first false', 'second true', 'second false', 'third false']);
  });

  it('sets no timer beyond the longest delay of the runtime', async () => {
    const { clock, log, timers, timer } = make();
    const after = jest.spyOn(clock, 'after');
    timers.add(timer('month'), 2 ** 31);
    expect(after.mock.calls[0]?.[0]).toBe(2 ** 31 - 1);
    await clock.pass(2 ** 31 - 1);
    expect(log).toEqual([]);
    await clock.pass(1);
    expect(log).toEqual(['month']);
  });
});
