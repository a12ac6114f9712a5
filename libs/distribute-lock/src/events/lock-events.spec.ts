import { LockEvents, type LockEvent } from './lock-events.js';

describe('LockEvents', () => {
  const released: LockEvent = { type: 'released', label: 'order:#{body.id}', heldMs: 3 };

  it('tells listeners of the types that they want, until they have had enough', () => {
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

  it('knows whether anybody listens', () => {
    const events = new LockEvents();
    expect(events.observes('released')).toBe(false);
    const end = events.listen(() => undefined, 'released');
    expect([events.observes('released'), events.observes('lost')]).toEqual([true, false]);
    end();
    expect(events.observes('released')).toBe(false);
  });

  it('does not let a listener disturb the others, or the caller', () => {
    const events = new LockEvents();
    const heard: LockEvent[] = [];
    events.listen(() => {
      throw new Error('observer');
    });
    events.listen((event) => heard.push(event));
    events.emit(released);
    expect(heard).toEqual([released]);
  });
});
