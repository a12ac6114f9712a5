import { boundedName, lockName, MOST_NAMES, nameOfKey } from './lock-name.js';

describe('nameOfKey', () => {
  it.each<[string, unknown]>([
    ['stock', 'stock:42'],
    ['nightly-report', 'nightly-report/eu'],
    ['stock', ['stock:1', 'stock:2']],
  ])('returns the constant part %s of %j', (name, key) => expect(nameOfKey(key)).toBe(name));

  it.each<[unknown]>([
    ['report'],
    ['42:stock'],
    ['a@example.com:cart'],
    ['user7:cart'],
    [':a'],
    [`${'x'.repeat(41)}:a`],
    [7],
  ])('returns "service" for %j, whose first part may be a value', (key) => expect(nameOfKey(key)).toBe('service'));

  it('returns the part of each key when keys begin alike', () => {
    const keys = ['stock:1', 'stock:2', 'stocks:1', 'stock', 'stock/eu', 'stock:', 'sto:1', 'stock:1'];
    expect(keys.map(nameOfKey)).toEqual(['stock', 'stock', 'stocks', 'service', 'stock', 'stock', 'sto', 'stock']);
  });

  it('counts no name twice', () => {
    for (let i = 0; i < 60; i += 1)
      expect([nameOfKey('service:1'), nameOfKey('other:1')]).toEqual(['service', 'other']);
    expect(nameOfKey('cart:1')).toBe('cart');
  });

  it('returns "service" after 50 parts, which are probably values', () => {
    const parts = Array.from(
      { length: 26 * 4 },
      (_, i) => `${'abcd'[i % 4]}${String.fromCharCode(97 + Math.floor(i / 4))}`,
    );
    const names = parts.map((part) => nameOfKey(`${part}:cart`));
    expect(new Set(names).size).toBe(46);
    expect(names.at(-1)).toBe('service');
    expect(nameOfKey('stock:42')).toBe('stock');
  });
});

describe('lockName', () => {
  it.each([[''], ['x'.repeat(101)], ['a\nb'], [7], [null], [{}]])('rejects %j', (name) => {
    expect(() => lockName(name as string)).toThrow(
      /^Option "name" is .*, but it must be a string of 1 to 100 characters/,
    );
  });

  it('keeps 200 names per process and returns "other" for all further names', () => {
    const names = Array.from({ length: MOST_NAMES + 50 }, (_, i) => `name ${i}`);
    expect(names.map((name) => lockName(name))).toEqual(
      names.map((name, i) => (i < MOST_NAMES - 2 - 50 ? name : 'other')),
    );
    expect(lockName('name 0')).toBe('name 0');
    expect(lockName('service')).toBe('service');
    expect(boundedName('Orders.ship')).toBe('other');
  });
});
