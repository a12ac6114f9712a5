import { LOCK_DEFAULTS } from '../options/lock-options.js';
import { type KeyState, Waiter, WaitList } from './key-state.js';

const list = (): WaitList => new WaitList({} as KeyState, false);

function waiter(waitMs = 1_000): Waiter {
  const call = { key: 'k', name: 'unit', scoped: false, options: { ...LOCK_DEFAULTS, waitMs } };
  return new Waiter(
    () => undefined,
    call,
    0,
    () => undefined,
    () => undefined,
  );
}

describe('A wait list', () => {
  const names = (waiters: WaitList, all: readonly Waiter[]): number[] => {
    const order: number[] = [];
    for (let each = waiters.first; each !== undefined; each = each.behind) order.push(all.indexOf(each));
    return order;
  };

  it('keeps the order of arrival when callers leave in any order', () => {
    const waiters = list();
    const all = Array.from({ length: 4 }, () => waiter());
    for (const each of all) waiters.push(each);
    expect(waiters.remove(all[1])).toBe(true);
    expect(names(waiters, all)).toEqual([0, 2, 3]);
    expect(waiters.remove(all[0])).toBe(true);
    expect(waiters.remove(all[3])).toBe(true);
    expect(names(waiters, all)).toEqual([2]);
    expect(waiters.last).toBe(all[2]);
    expect(waiters.remove(all[0])).toBe(false);
    expect(waiters.size).toBe(1);
  });

  it('counts the callers that are willing to wait', () => {
    const waiters = list();
    const [patient, impatient, leaving] = [waiter(), waiter(0), waiter()];
    for (const each of [patient, impatient, leaving]) waiters.push(each);
    expect([waiters.size, waiters.patient]).toEqual([3, 2]);
    waiters.giveUp(leaving);
    expect([waiters.size, waiters.patient]).toEqual([3, 1]);
    waiters.remove(leaving);
    waiters.remove(patient);
    expect([waiters.size, waiters.patient, waiters.waits]).toEqual([1, 0, false]);
  });
});
