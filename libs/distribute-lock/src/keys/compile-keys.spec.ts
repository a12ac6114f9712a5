import { MOST_KEYS, orderedKeys } from './check-key.js';
import { compileKey, compileKeys, type KeyFunction } from './compile-keys.js';

const site = { method: 'Invoices.settle', bound: [], parameters: undefined };

describe('compileKey', () => {
  it('returns the text of a template, or the method for a function', () => {
    expect(compileKey('invoice:#{arg0.id}', site).template).toBe('invoice:#{arg0.id}');
    expect(compileKey(() => 'a', site).template).toBe('Invoices.settle');
  });

  it('passes the arguments and the instance to a key function', () => {
    const make: KeyFunction = function (this: { region: string }, id: number) {
      return `${this.region}:${id}`;
    };
    expect(compileKey(make, site).render([7], undefined, { region: 'eu' })).toBe('eu:7');
  });

  it.each([[undefined], [null], [42], [{}], [['a']]])('rejects %p as a key', (key) => {
    expect(() => compileKey(key, site)).toThrow(
      expect.objectContaining({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringContaining('Invoices.settle') as string,
      }),
    );
  });

  it.each([[''], [undefined], [42], [Promise.resolve('a')], ['x'.repeat(1025)]])(
    'rejects %p from a key function',
    (result) => {
      const { render } = compileKey(() => result as string, site);
      expect(() => render([], undefined, undefined)).toThrow(
        expect.objectContaining({ code: 'LOCK_KEY', source: 'code', method: 'Invoices.settle' }),
      );
    },
  );

  it.each(['k:undefined', 'undefined', 'k_NaN_2', 'NaN', 'k:[object Object]', '[object Date]', 'k:#{arg0}'])(
    'rejects %j from a key function, because a value is missing in it',
    (result) => {
      const missing = { code: 'LOCK_KEY', message: expect.stringContaining('Invoices.settle') as string };
      const { render } = compileKey(() => result, site);
      expect(() => render([], undefined, undefined)).toThrow(expect.objectContaining({ ...missing, source: 'code' }));
      const several = compileKeys(() => ['a', result], undefined, site);
      expect(() => several.render([], undefined, undefined)).toThrow(expect.objectContaining(missing));
    },
  );

  it.each(['k:undefinedness', 'BaNaNa', 'xNaN8', 'k:null', 'a[object]', 'NaNNaN'])(
    'accepts %j from a key function',
    (result) => {
      expect(compileKey(() => result, site).render([], undefined, undefined)).toBe(result);
      expect(compileKeys(() => [result], undefined, site).render([], undefined, undefined)).toEqual([result]);
    },
  );

  it('rejects a revoked proxy', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const { render } = compileKey(() => proxy as string, site);
    expect(() => render([], undefined, undefined)).toThrow(expect.objectContaining({ code: 'LOCK_KEY' }));
  });

  it('keeps the error of a key function as the cause', () => {
    const cause = new TypeError('secret');
    const { render } = compileKey(() => {
      throw cause;
    }, site);
    expect(() => render([], undefined, undefined)).toThrow(
      expect.objectContaining({
        code: 'LOCK_KEY',
        source: 'code',
        cause,
        message: expect.not.stringContaining('secret') as string,
      }),
    );
  });
});

const refused = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error;
  }
};

describe('orderedKeys', () => {
  it('removes duplicates and sorts keys in the same order in every process', () => {
    expect(orderedKeys(['b', 'a', 'é', 'B', 'b', 'a10', 'a9'], 'A.b')).toEqual(['B', 'a', 'a10', 'a9', 'b', 'é']);
  });

  it('rejects invalid lists without repeating their keys', () => {
    const many = Array.from({ length: MOST_KEYS + 1 }, (_, i) => `key-${i}`);
    for (const [keys, fault] of [
      [[], /list of keys given to A\.b is empty/],
      [many, /has 101 keys; at most 100 are allowed/],
      [['a', ''], /key given to A\.b is empty/],
      [['a', 7], /A\.b is a number/],
      [['a', 'x'.repeat(2_000)], /longer than/],
    ] as const) {
      expect(refused(() => orderedKeys(keys as string[], 'A.b'))).toMatchObject({
        code: 'LOCK_KEY',
        message: expect.stringMatching(fault) as string,
      });
    }
    expect(orderedKeys(many.slice(1), 'A.b')).toHaveLength(MOST_KEYS);
  });
});

describe('compileKeys', () => {
  const place = { method: 'A.b', bound: [], parameters: 2 };
  const compile = (keys: unknown, key?: unknown) => compileKeys(keys, key, place);

  it('renders templates and sorts the keys', () => {
    const { template, render } = compile(['account:#{arg0.from}', 'account:#{arg0.to}', 'day:#{arg1}']);
    expect(template).toBe('account:#{arg0.from}, account:#{arg0.to}, day:#{arg1}');
    expect(render([{ from: 'z', to: 'b' }, 7], undefined, undefined)).toEqual(['account:b', 'account:z', 'day:7']);
    expect(render([{ from: 'b', to: 'b' }, 7], undefined, undefined)).toEqual(['account:b', 'day:7']);
    expect(refused(() => render([{ from: 'b' }, 7], undefined, undefined))).toMatchObject({ code: 'LOCK_KEY' });
  });

  it('accepts a function that returns the keys', () => {
    const self = { prefix: 'sku' };
    const keys = function (this: typeof self, skus: string[]) {
      return skus.map((sku) => `${this.prefix}:${sku}`);
    };
    expect(compile(keys).render([['b', 'a']], undefined, self)).toEqual(['sku:a', 'sku:b']);
    expect(compile(keys).template).toBe('A.b');
    for (const wrong of [() => 'a', () => undefined, () => [], () => ['a', null]]) {
      const { render } = compile(wrong);
      expect(refused(() => render([], undefined, undefined))).toMatchObject({ code: 'LOCK_KEY', method: 'A.b' });
    }
    const throwing = compile(() => {
      throw new Error('no');
    });
    expect(refused(() => throwing.render([], undefined, undefined))).toMatchObject({
      code: 'LOCK_KEY',
      source: 'code',
    });
  });

  it('rejects invalid keys at import, naming the method', () => {
    for (const [keys, fault] of [
      [[], /"keys" of A\.b is an empty list/],
      ['a', /"keys" of A\.b is a string/],
      [null, /"keys" of A\.b is null/],
      [['a', 7], /"key" of A\.b is a number/],
      [['a', () => 'b'], /"keys" of A\.b contains a function/],
      [['a', '#{arg2}'], /A\.b.*uses arg2/],
      [['a', '#{order}'], /A\.b.*"order"/],
    ] as const) {
      expect(() => compile(keys)).toThrow(fault);
    }
    expect(() => compile(['a'], 'b')).toThrow(/A\.b has the options "key" and "keys"/);
  });
});
