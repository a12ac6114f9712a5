import { jest } from '@jest/globals';

import { LockEvents } from '../events.js';
import { logEvents } from './event-log.js';

describe('logEvents', () => {
  it('warns about events for operators and logs contention at debug level', () => {
    const warn = jest.fn<(line: string) => void>();
    const debug = jest.fn<(line: string) => void>();
    const events = new LockEvents();
    logEvents(events, { debug, warn, log: jest.fn() });
    events.emit({ type: 'acquired', name: 'a' });
    events.emit({ type: 'released', name: 'a' });
    events.emit({ type: 'contended', name: 'order:#{arg0}', error: new Error('x') });
    expect(warn).not.toHaveBeenCalled();
    events.emit({ type: 'lost', name: 'order:#{arg0}', error: new Error('The lease of "order:#{arg0}" is lost.') });
    events.emit({ type: 'release-failed', name: 'order:#{arg0}', error: new Error('mute') });
    expect(warn.mock.calls).toEqual([['The lease of "order:#{arg0}" is lost.'], ['order:#{arg0}: mute']]);
    events.emit({ type: 'held-long', name: 'Orders.ship', heldMs: 61_234, waiting: 2 });
    expect(warn.mock.calls.at(-1)).toEqual([
      'The lock "Orders.ship" has been held for 61.2 s, and 2 callers wait for it. Look for work that does not end, or limit it with "maxHold".',
    ]);
    expect(debug).toHaveBeenCalledTimes(1);
  });

  it('logs one line a minute for each kind of event and lock, with the number of the others', () => {
    jest.useFakeTimers();
    const warn = jest.fn<(line: string) => void>();
    const events = new LockEvents();
    logEvents(events, { warn, debug: jest.fn(), log: jest.fn() });
    const fail = (type: 'lost' | 'release-failed', name: string): void =>
      events.emit({ type, name, error: new Error('failed') });
    for (let time = 0; time < 1_000; time += 1) fail('release-failed', 'Orders.ship');
    fail('release-failed', 'Orders.pay');
    fail('lost', 'Orders.ship');
    expect(warn.mock.calls.flat()).toEqual(['Orders.ship: failed', 'Orders.pay: failed', 'Orders.ship: failed']);
    jest.advanceTimersByTime(60_000);
    expect(warn.mock.calls.flat().slice(3)).toEqual(['Orders.ship: failed (999 times more in the last minute)']);
    fail('release-failed', 'Orders.ship');
    fail('release-failed', 'Orders.pay');
    jest.advanceTimersByTime(120_000);
    expect(warn.mock.calls.flat().slice(4)).toEqual([
      'Orders.pay: failed',
      'Orders.ship: failed (1 times more in the last minute)',
    ]);
    jest.useRealTimers();
  });
});
