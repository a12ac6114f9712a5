import fc from 'fast-check';

import { runsOf } from '../../../../test/support/runs.js';
import { isLockError } from '../errors.js';
import type { RequestData } from './key-roots.js';
import { encodeWith, reservedCharacters } from './encode-key.js';
import { KeyTemplate } from './key-template.js';

const RUNS = runsOf('key fuzz', 100_000);

/** Methods that a careless `${value}`, `value == ''` or JSON.stringify would call. */
const TRAPS = ['toString', 'valueOf', 'toJSON', 'then', 'constructor', Symbol.toPrimitive, Symbol.iterator] as const;

let touched: PropertyKey[] = [];

function touch(name: PropertyKey): never {
  touched.push(name);
  throw new TypeError(`touched ${String(name)}`);
}

/** An object whose prototype has a getter for every name of the fuzz; none may be called. */
const trapped = Object.create(null) as object;
const NAMES = [
  'id',
  'x',
  '0',
  '1',
  'length',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '💾',
];
for (const name of new Set([...NAMES, ...TRAPS])) Object.defineProperty(trapped, name, { get: () => touch(name) });

const throwing = () => {
  throw new RangeError('a getter threw');
};

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const hostile = fc.constantFrom<() => unknown>(
  () => Object.create(trapped),
  () => Object.create(trapped, { id: { value: 'own' }, x: { value: { id: 1 } } }),
  () => Object.defineProperty({}, 'id', { get: throwing, enumerable: true }),
  () => Object.defineProperty([], '0', { get: throwing }),
  () => new Proxy({}, { getOwnPropertyDescriptor: throwing }),
  () => new Proxy({ id: 1 }, { get: throwing }),
  () => new Proxy({ id: 1, x: 2 }, {}),
  () => new Proxy([], { has: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
  revoked,
  () => JSON.parse('{"__proto__":{"id":1},"constructor":{"prototype":"p"},"id":"","x":[{"id":true}]}') as unknown,
  () => [, 1, , 'x'], // oxlint-disable-line no-sparse-arrays
  () => Object('boxed'),
  () => Object(42),
  () => Object(42n),
  () => Object(true),
  () => Symbol('id'),
  () => () => 'id',
  () => class Id {},
  () => Object.create(null),
  () => new Map([['id', 1]]),
  () => new Date(0),
  () => Buffer.from('id'),
  () => ({ id: { x: { id: { x: { '0': { '1': 'deep' } } } } } }),
  () => '\ud800',
  () => 'a\udfffb',
  () => '\u0000\r\n',
  () => -0,
  () => Number.MIN_VALUE,
  () => 10n ** 2000n,
  () => undefined,
);

/** Created inside the property only, because fast-check inspects generated values and some of these throw. */
const value: fc.Arbitrary<() => unknown> = fc.oneof(
  { weight: 3, arbitrary: hostile },
  fc
    .anything({ withNullPrototype: true, withBigInt: true, withSparseArray: true, maxDepth: 2 })
    .map((made) => () => made),
  fc.string({ unit: 'binary', maxLength: 1200 }).map((made) => () => made),
  { weight: 3, arbitrary: fc.string({ minLength: 1, maxLength: 9 }).map((made) => () => made) },
);

/** Hostile values occur at the end and at the start of paths. */
const nested = fc.tuple(value, fc.constantFrom([], ['id'], ['x', 'id'], ['0'], ['__proto__'])).map(
  ([make, names]) =>
    () =>
      names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), make()),
);

const placeholder = fc
  .tuple(
    fc.constantFrom('arg0', 'arg1', 'arg7', 'body', 'user', 'ip', 'headers', 'data', 'nope', '__proto__'),
    fc.array(fc.constantFrom(...NAMES), { maxLength: 4 }),
  )
  .map(([root, names]) => `#{${[root, ...names].join('.')}}`);
const wild = fc
  .array(fc.oneof(placeholder, fc.string({ unit: 'binary', maxLength: 3 }), fc.constantFrom(':', '%', '#{', '}')), {
    maxLength: 5,
  })
  .map((parts) => parts.join(''));
const known = fc
  .tuple(
    fc.constantFrom('arg0', 'arg1', 'body', 'ip'),
    fc.constantFrom('', '', '.id', '.x.id', '.0', '.__proto__', '.id.id'),
  )
  .map(([root, names]) => `#{${root}${names}}`);
const text = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(known, { minLength: 1, maxLength: 2 }).map((placeholders) => `lock:${placeholders.join(':')}`),
  },
  { weight: 1, arbitrary: wild },
);

describe('the key resolver', () => {
  /** All properties of the prototypes of values, to be compared by identity. */
  const prototypes = () =>
    [Object, Array, Function, String, Number, BigInt, Boolean, Symbol, Date, Map, RegExp, Error, Promise].flatMap(
      ({ prototype }) =>
        Reflect.ownKeys(prototype).flatMap((name) => {
          const { value: held, get, set } = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
          return [name, held as unknown, get, set];
        }),
    );

  it(`ends ${RUNS.numRuns} times with a key or a LockKeyError, and changes no prototype`, () => {
    const before = prototypes();
    const seen = { key: 0, LOCK_KEY: 0, LOCK_CONFIGURATION: 0 };
    touched = [];
    const run = fc.property(text, nested, nested, fc.boolean(), (template, makeOne, makeOther, broken) => {
      const one = makeOne();
      const other = makeOther();
      const request: RequestData = {
        transport: 'http',
        read: (root) => (broken ? throwing() : root === 'ip' ? other : one),
      };
      const bound = broken ? [] : [{ paramtype: 3, index: 1, property: undefined }];
      try {
        const key = KeyTemplate.parse(template, { method: 'A.b', bound, parameters: undefined }).render(
          [one, other],
          request,
        );
        if (typeof key !== 'string' || Buffer.from(key).toString() !== key || Buffer.byteLength(key) > 1024)
          return false;
        seen.key += 1;
      } catch (error) {
        if (!isLockError(error, 'LOCK_KEY', 'LOCK_CONFIGURATION')) throw error;
        seen[error.code] += 1;
      }
      return touched.length === 0;
    });
    fc.assert(run, RUNS);

    expect(touched).toEqual([]);
    const after = prototypes();
    expect(after).toHaveLength(before.length);
    expect(after.findIndex((it, index) => !Object.is(it, before[index]))).toBe(-1);
    // The fuzz must reach both branches.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS.numRuns / 20);
  });

  // Few characters, mostly significant ones: escapes consist of hexadecimal digits.
  const unit = fc.constantFrom(
    'a',
    '_',
    '2',
    '5',
    'C',
    'F',
    '}',
    '{',
    ':',
    '.',
    'é',
    '好',
    '💾',
    '-',
    ']',
    '^',
    '\\',
    '\0',
  );
  // Templates refuse `{a}` and `:a_`, because they look like placeholders.
  const plain = (part: string) => !/\{[^\s{}]+\}|:[aCF]/.test(part);
  const literal = fc.string({ unit, maxLength: 3 }).filter(plain);
  const between = fc.string({ unit, minLength: 1, maxLength: 3 }).filter(plain);
  const scalar = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.string({
        unit: fc.oneof({ weight: 4, arbitrary: unit }, fc.constant('%')),
        minLength: 1,
        maxLength: 6,
      }),
    },
    fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.bigInt(),
    fc.boolean(),
  );
  const filled = fc.record({
    first: literal,
    borders: fc.array(between, { maxLength: 3 }),
    last: literal,
    values: fc.tuple(scalar, scalar, scalar, scalar),
  });

  it(`renders ${RUNS.numRuns} keys that decode to their values, so that no two inputs share a key`, () => {
    const run = fc.property(filled, ({ first, borders, last, values }) => {
      const placeholders = ['#{arg0}', ...borders.map((border, index) => `${border}#{arg${index + 1}}`)];
      const template = KeyTemplate.parse(first + placeholders.join('') + last, {
        method: 'A.b',
        bound: [],
        parameters: undefined,
      });
      const texts = values.slice(0, placeholders.length).map(String);
      return (
        JSON.stringify(readBack(template.render(values, undefined), first, borders, last)) === JSON.stringify(texts)
      );
    });
    fc.assert(run, RUNS);
  });
});

describe('reservedCharacters', () => {
  // Short values over the characters of the separators, so that many pairs have similar keys.
  const separator = fc.string({ unit: fc.constantFrom('a', 'b', '_', '-', ':', '4', 'A'), minLength: 1, maxLength: 3 });
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '_', '-', ':', '4', 'A', '%'), minLength: 1, maxLength: 5 });
  const values = fc.tuple(part, part, part);

  it(`keeps ${RUNS.numRuns} pairs of values apart`, () => {
    const run = fc.property(separator, separator, values, values, (one, two, left, right) => {
      const reserved = reservedCharacters(['', one, two, '']);
      const keyOf = ([a, b, c]: readonly string[]) =>
        encodeWith(reserved, a) + one + encodeWith(reserved, b) + two + encodeWith(reserved, c);
      return (keyOf(left) === keyOf(right)) === (left.join('\n') === right.join('\n'));
    });
    fc.assert(run, RUNS);
  });
});

/** Decodes a key by the documented rule: `%XX` is one character, and a value never contains a reserved character. */
function readBack(key: string, first: string, borders: readonly string[], last: string): string[] {
  const values: string[] = [];
  let rest = key.slice(first.length, key.length - last.length);
  const reserved = reservedCharacters([first, ...borders, last]);
  for (const border of borders) {
    const mark = [...border].find((character) => encodeWith(reserved, character) !== character)!;
    let at = 0;
    while (!rest.startsWith(mark, at)) at += rest[at] === '%' ? 3 : 1;
    const end = at - border.indexOf(mark);
    values.push(rest.slice(0, end));
    rest = rest.slice(end + border.length);
  }
  return [...values, rest].map(decodeURIComponent);
}
