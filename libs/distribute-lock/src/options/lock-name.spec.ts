import { boundedName, lockName, MOST_NAMES } from './lock-name.js';

describe('lockName', () => {
  it.each([[''], ['x'.repeat(101)], ['a\nb'], [7], [null], [{}]])('rejects %j', (name) => {
    expect(() => lockName(name as string)).toThrow(
      /^Option "name" is .*, but it must be a string of 1 to 100 characters/,
    );
  });

  it('keeps 200 names per process and returns "other" for all further names', () => {
    const names = Array.from({ length: MOST_NAMES + 50 }, (_, i) => `name ${i}`);
    expect(names.map((name) => lockName(name))).toEqual(names.map((name, i) => (i < MOST_NAMES ? name : 'other')));
    expect(lockName('name 0')).toBe('name 0');
    expect(lockName('service')).toBe('service');
    expect(boundedName('Orders.ship')).toBe('other');
  });
});
