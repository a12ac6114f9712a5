import { compileKey, type KeyFunction } from './compile-key.js';

const site = { method: 'Invoices.settle', bound: [], parameters: undefined };

describe('compileKey', () => {
  it('keeps the text of a template, and the method of a function', () => {
    expect(compileKey('invoice:#{arg0.id}', site).template).toBe('invoice:#{arg0.id}');
    expect(compileKey(() => 'a', site).template).toBe('Invoices.settle');
  });

  it('hands the arguments and the instance to a key function', () => {
    const make: KeyFunction = function (this: { region: string }, id: number) {
      return `${this.region}:${id}`;
    };
    expect(compileKey(make, site).render([7], undefined, { region: 'eu' })).toBe('eu:7');
  });

  it.each([[undefined], [null], [42], [{}], [['a']]])('refuses %p as a key', (key) => {
    expect(() => compileKey(key, site)).toThrow(
      expect.objectContaining({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringContaining('Invoices.settle') as string,
      }),
    );
  });

  it.each([[''], [undefined], [42], [Promise.resolve('a')], ['x'.repeat(1025)]])(
    'refuses %p from a key function',
    (result) => {
      const { render } = compileKey(() => result as string, site);
      expect(() => render([], undefined, undefined)).toThrow(
        expect.objectContaining({ code: 'LOCK_KEY', source: 'code', method: 'Invoices.settle' }),
      );
    },
  );

  it('refuses even what cannot be asked what it is', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const { render } = compileKey(() => proxy as string, site);
    expect(() => render([], undefined, undefined)).toThrow(expect.objectContaining({ code: 'LOCK_KEY' }));
  });

  it('keeps what a key function threw as the cause', () => {
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
