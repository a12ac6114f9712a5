import { jest } from '@jest/globals';

import { ManualClock } from '../../../../test/support/manual-clock.js';
import { Timed, TimerLanes } from './timer-lanes.js';

class Entry extends Timed {
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

describe('TimerLanes', () => {
  const make = () => {
    const clock = new ManualClock();
    const log: string[] = [];
    const lanes = new TimerLanes(clock);
    return { clock, log, lanes, entry: (name: string, then?: () => void) => new Entry(name, log, then) };
  };

  it('calls each entry once, in the order of their times, on one timer of the clock', async () => {
    const { clock, log, lanes, entry } = make();
    lanes.add(entry('late'), 300);
    lanes.add(entry('early'), 100);
    lanes.add(entry('also late'), 300);
    expect(clock.pending).toBe(1);
    await clock.pass(99);
    expect(log).toEqual([]);
    await clock.pass(1);
    expect(log).toEqual(['early']);
    await clock.pass(1_000);
    expect(log).toEqual(['early', 'late', 'also late']);
    expect(clock.pending).toBe(0);
  });

  it('drops a removed entry at any position', async () => {
    const { clock, log, lanes, entry } = make();
    const entries = ['a', 'b', 'c', 'd'].map((name) => entry(name));
    for (const each of entries) lanes.add(each, 50);
    for (const at of [1, 0, 3]) lanes.remove(entries[at]);
    lanes.remove(entries[0]);
    await clock.pass(100);
    expect(log).toEqual(['c']);
  });

  it('moves an entry that is added again', async () => {
    const { clock, log, lanes, entry } = make();
    const moved = entry('moved');
    lanes.add(moved, 10);
    lanes.add(moved, 200);
    await clock.pass(100);
    expect(log).toEqual([]);
    await clock.pass(100);
    expect(log).toEqual(['moved']);
  });

  it('accepts entries that are added while other entries are due', async () => {
    const { clock, log, lanes, entry } = make();
    lanes.add(
      entry('first', () => lanes.add(entry('second'), 5)),
      10,
    );
    await clock.pass(20);
    expect(log).toEqual(['first', 'second']);
  });

  it('calls no entry after it was closed', async () => {
    const { clock, log, lanes, entry } = make();
    for (let i = 0; i < 40; i += 1) lanes.add(entry(String(i)), i);
    lanes.close();
    await clock.pass(100);
    expect(log).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('notifies its entries when it is closed, and later entries at once', async () => {
    const { clock, log, lanes, entry } = make();
    const forgettable = (name: string): Timed => {
      const made = entry(name);
      made.forgotten = (stood) => {
        log.push(`${name} ${stood}`);
        if (stood) lanes.add(made, 10);
      };
      return made;
    };
    for (const name of ['first', 'second']) lanes.add(forgettable(name), 100);
    lanes.close();
    lanes.add(forgettable('third'), 100);
    await clock.pass(200);
    expect(log).toEqual(['first true', 'first false', 'second true', 'second false', 'third false']);
  });

  it('sets no timer beyond the longest delay of the runtime', async () => {
    const { clock, log, lanes, entry } = make();
    const after = jest.spyOn(clock, 'after');
    lanes.add(entry('month'), 2 ** 31);
    expect(after.mock.calls[0]?.[0]).toBe(2 ** 31 - 1);
    await clock.pass(2 ** 31 - 1);
    expect(log).toEqual([]);
    await clock.pass(1);
    expect(log).toEqual(['month']);
  });
});
