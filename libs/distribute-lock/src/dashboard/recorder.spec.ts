import type { LockPresence } from '../engine/census.js';
import { LockEvents } from '../events.js';
import { Recorder } from './recorder.js';

describe('Recorder', () => {
  let holds: LockPresence[] = [];
  const held = (since: number): LockPresence => ({
    ...{ key: 'pool', kind: 'semaphore', holders: 1, name: 'Jobs.run', since, until: since + 30_000 },
    ...{ waiting: 0, waitingSince: Infinity },
  });
  const engine = { census: () => holds, clock: { now: () => 5_000 } };
  const events = new LockEvents();
  const recorder = () => new Recorder(new Map([['default', engine]]), events, { instance: 'a', label: 'A' });
  const bars = (one: Recorder) => one.collect(new Set()).bars.map(({ outcome }) => outcome);

  it.each([
    ['ends', () => [], ['released']],
    ['is replaced by a later one', () => [held(2_000)], ['released']],
    ['goes on', () => [held(1_000)], []],
  ])('ends the bar of a hold from before the page exactly when it is over: it %s', (_, then, expected) => {
    holds = [held(1_000)];
    const one = recorder();
    one.start();
    expect(bars(one)).toEqual(['open']);
    holds = then();
    expect(bars(one)).toEqual(expected);
    one.stop();
  });

  it('records whether a released lease was detached', () => {
    holds = [];
    const one = recorder();
    one.start();
    for (const detached of [undefined, true] as const) {
      const subject = { key: 'job', options: { kind: 'write' } };
      events.emit({ type: 'acquired', name: 'Jobs.run' }, subject);
      events.emit({ type: 'released', name: 'Jobs.run', ...(detached && { detached }) }, subject);
    }
    expect(bars(one)).toEqual(['released', 'detached']);
    one.stop();
  });

  it.each(['exclusive', 'semaphore'] as const)('records that a hold from before the page was detached: %s', (kind) => {
    holds = [{ ...held(1_000), kind }];
    const one = recorder();
    one.start();
    holds = [];
    events.emit({ type: 'released', name: 'Jobs.run', detached: true }, { key: 'pool', options: { kind } });
    expect(bars(one)).toContain('detached');
    one.stop();
  });
});
