import { slotOf } from './slot.js';

describe('slotOf', () => {
  it.each([
    ['123456789', 0x31c3],
    ['foo', 12_182],
    ['{foo}bar', 12_182],
    ['q1:{lock:schlüssel}', slotOf('lock:schlüssel')],
    ['', 0],
  ])('returns the slot of %j as Redis Cluster computes it', (key, slot) => {
    expect(slotOf(key)).toBe(slot);
  });
});
