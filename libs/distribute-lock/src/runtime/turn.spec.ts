import { ManualClock } from '../../../../test/support/manual-clock.js';
import { Turn } from './turn.js';

describe('Turn', () => {
  it('yields to the event loop during a long series of steps', () => {
    const clock = new ManualClock();
    const turn = new Turn(clock);
    let steps = 0;
    const again = (): void => {
      steps += 1;
      if (steps < 1_000) turn.step(again);
    };
    turn.step(again);
    expect(steps).toBeLessThanOrEqual(64);
    for (let turns = 0; turns < 40; turns += 1) clock.turn();
    expect(steps).toBe(1_000);
  });

  it('yields earlier when steps are slow', () => {
    const clock = new ManualClock();
    const turn = new Turn(clock);
    let steps = 0;
    const again = (): void => {
      steps += 1;
      clock.jump(0.5);
      if (steps < 100) turn.step(again);
    };
    turn.step(again);
    expect(steps).toBeLessThan(16);
  });

  it('keeps the order of delayed steps', () => {
    const clock = new ManualClock();
    const turn = new Turn(clock);
    const order: number[] = [];
    for (let i = 0; i < 200; i += 1) turn.step(() => order.push(i));
    for (let turns = 0; turns < 5; turns += 1) clock.turn();
    expect(order).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });
});
