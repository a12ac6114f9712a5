import { AsyncLocalStorage } from 'node:async_hooks';

import { jest } from '@jest/globals';

import { type LockEvent, LockEvents } from './events.js';

describe('LockEvents', () => {
  const released: LockEvent = { type: 'released', name: 'order:#{body.id}', heldMs: 3 };

  it('notifies listeners of their types until they unsubscribe', () => {
    const events = new LockEvents();
    const heard: string[] = [];
    const end = events.listen(({ type }) => heard.push(`all ${type}`));
    events.listen(({ type }) => heard.push(`some ${type}`), 'released');
    events.emit(released);
    events.emit({ ...released, type: 'lost' });
    end();
    end();
    events.emit(released);
    events.emit({ ...released, type: 'lost' });
    expect(heard).toEqual(['all released', 'some released', 'all lost', 'some released']);
  });

  it('reports whether a type has a listener', () => {
    const events = new LockEvents();
    expect(events.observes('released')).toBe(false);
    const end = events.listen(() => undefined, 'released');
    expect([events.observes('released'), events.observes('lost')]).toEqual([true, false]);
    end();
    expect(events.observes('released')).toBe(false);
  });

  it('isolates other listeners and the caller from a listener that throws', () => {
    const events = new LockEvents();
    const heard: LockEvent[] = [];
    events.listen(() => {
      throw new Error('observer');
    });
    events.listen((event) => heard.push(event));
    events.emit(released);
    expect(heard).toEqual([released]);
  });

  it('handles the rejected promise of a listener', async () => {
    const events = new LockEvents();
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    const listener = (): unknown => Promise.reject(new Error('observer'));
    events.listen(listener);
    events.emit(released);
    await new Promise(setImmediate);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('removes one registration of a listener and keeps the others', () => {
    const events = new LockEvents();
    const listener = jest.fn();
    events.listen(listener, 'released');
    const end = events.listen(listener, 'released');
    events.emit(released);
    expect(listener).toHaveBeenCalledTimes(2);
    end();
    end();
    events.emit(released);
    expect(listener).toHaveBeenCalledTimes(3);
  });

  it('calls listeners outside the call that caused the event', () => {
    const events = new LockEvents();
    const calls = new AsyncLocalStorage<string>();
    const heard: unknown[] = [];
    events.listen(() => heard.push(calls.getStore()));
    calls.run('a call', () => events.emit(released));
    expect(heard).toEqual([undefined]);
  });
});
