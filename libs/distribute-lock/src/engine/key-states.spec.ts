import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { ExclusiveState } from './exclusive.js';
import { KeyStates } from './key-states.js';
import type { KindServices } from './kind.js';
import { ReadState } from './read.js';

describe('KeyStates', () => {
  const services = {} as KindServices;
  const make = () => new KeyStates();

  it('keeps an idle exclusive state for the next call of its key, and does not count it', () => {
    const states = make();
    const state = new ExclusiveState(services, 'order:42');
    states.add(state);
    states.remove(state);
    states.remove(state);
    expect(states.find('exclusive', 'order:42')).toBeUndefined();
    expect([states.all(), states.empty]).toEqual([[], true]);
    expect(states.resume('exclusive', 'order:42')).toBe(state);
    expect(states.find('exclusive', 'order:42')).toBe(state);
    expect([states.all(), states.empty]).toEqual([[state], false]);
  });

  it('removes an idle state of another kind', () => {
    const states = make();
    const state = new ReadState(services, 'order:42');
    states.add(state);
    states.remove(state);
    expect(states.resume('read', 'order:42')).toBeUndefined();
    expect(states.empty).toBe(true);
  });

  it('keeps at most 1,000 idle states, or as many as others', () => {
    const states = make();
    const keys = Array.from({ length: 10_000 }, (_, i) => `order:${i}`);
    const all = keys.map((key) => new ExclusiveState(services, key));
    const kept = () => keys.filter((key) => states.resume('exclusive', key) !== undefined).length;
    for (const state of all) states.add(state);
    for (const state of all) states.remove(state);
    expect(states.empty).toBe(true);
    expect(kept()).toBeLessThanOrEqual(1_000);
  });

  it('leaves no garbage in the old generation of the heap', () => {
    const states = make();
    const keys = Array.from({ length: 128 }, (_, i) => `order:${i}`);
    const call = (key: string) => {
      const known = states.resume('exclusive', key);
      if (known !== undefined) states.remove(known);
      else states.add(new ExclusiveState(services, key));
    };
    const calls = () => {
      for (let i = 0; i < 2_000; i += 1) keys.forEach(call);
    };
    calls();
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    const before = oldBytes();
    calls();
    expect(oldBytes() - before).toBeLessThan(500_000);
  });
});

const oldBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
