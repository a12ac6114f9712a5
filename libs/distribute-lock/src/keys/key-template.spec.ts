import { constants } from 'node:buffer';

import fc from 'fast-check';

import { refusedKey } from '../../../../test/support/refused-key.js';
import { runsOf } from '../../../../test/support/runs.js';
import type { RequestData } from './key-roots.js';
import { type KeySite, KeyTemplate } from './key-template.js';

const site: KeySite = { method: 'PostController.post', bound: [], parameters: undefined };

function template(text: string, more: Partial<KeySite> = {}): KeyTemplate {
  return KeyTemplate.parse(text, { ...site, ...more });
}

function render(text: string, ...args: unknown[]): string {
  return template(text).render(args, undefined);
}

function http(parts: Record<string, unknown>): RequestData {
  return { transport: 'http', read: (root) => parts[root] };
}

describe('KeyTemplate.parse', () => {
  it.each([
    ['#{body.channel', 'not closed'],
    ['a#{}b', 'empty'],
    ['#{body..channel}', 'not a path'],
    ['#{ body.channel }', 'not a path'],
    ['#{body.items[0]}', 'not a path'],
    ['#{body.#{x}}', 'not closed'],
    ['#{.body}', 'not a path'],
    ['#{baseRequest.channel}', 'write "body." or "arg0."'],
    ['#{arg}', 'is unknown'],
    ['#{arg01}', 'is unknown'],
    ['#{arg-1}', 'is unknown'],
    ['#{__proto__.x}', 'is unknown'],
    ['#{constructor.name}', 'is unknown'],
    ['#{arg0.note?.text}', 'has no optional parts, so remove "?"'],
    ['order_{arg0}', '"{arg0}" has no "#"'],
    ['{tag}:#{arg0}', '"{tag}" has no "#"'],
    ['#{arg0}:{body.id}', '"{body.id}" has no "#"'],
    ['a_:channel', '":channel" is not a placeholder'],
    [':channel', '":channel" is not a placeholder'],
    ['orders/:id/lines', '":id" is not a placeholder'],
    ['#{arg0}-:day', '":day" is not a placeholder'],
    ['#{arg0}#{arg1}', 'between them'],
    ['#{arg0}%#{arg1}', '"%" is not allowed between'],
    ['post_test_${body.channel}', 'written #{path}'],
    ['', 'is empty'],
    ['a'.repeat(1025), 'longer than 1024 bytes'],
    [`${'a'.repeat(1024)}#{arg0}`, 'longer than 1024 bytes'],
    ['\ud800#{arg0}', 'surrogate'],
    // Joined, they would form a pair, and `🔒` + high + low would be ambiguous.
    ['#{arg0}\ud83d#{arg1}\udd12', 'surrogate'],
  ])('rejects %j, naming the method', (text, words) => {
    expect(() => template(text)).toThrow(
      expect.objectContaining({
        code: 'LOCK_CONFIGURATION',
        message: expect.stringMatching(/PostController\.post/) as string,
      }),
    );
    expect(() => template(text)).toThrow(words);
  });

  it('refuses an argument that the method does not have', () => {
    expect(() => template('#{arg2.id}', { parameters: 2 })).toThrow('uses arg2, but the method has 2 parameter(s)');
    expect(() => template('#{arg1.id}', { parameters: 2 })).not.toThrow();
  });

  it.each([
    ...['report', '{#{arg0}}:lines', '}#{arg0}', 'a:%:#{arg0}', '#{arg0.id}:#{arg0.b}', '#{headers.x-tenant-id}'],
    ...['{}', '{a b}', 'a:b', 'a::b', 'a_:b:c', 'a_: b', 'a_:#{arg0}_b', '#{arg0}:b', 'a/:1'],
  ])('accepts %j', (text) => {
    expect(() => template(text)).not.toThrow();
  });
});

describe('KeyTemplate.render', () => {
  it('fills the placeholders', () => {
    expect(render('report')).toBe('report');
    expect(render('post_test_#{arg0.channel}', { channel: 'web' })).toBe('post_test_web');
    expect(render('#{arg1}', 1, 'b')).toBe('b');
    expect(render('#{arg0.items.1.id}!', { items: [{ id: 1 }, { id: 2 }] })).toBe('2!');
  });

  it('formats scalars as text, so that 42 and "42" are one lock', () => {
    for (const value of [42, '42', 42n]) expect(render('#{arg0}', value)).toBe('42');
    for (const value of [true, 'true']) expect(render('#{arg0}', value)).toBe('true');
    expect(render('#{arg0}', -0)).toBe('0');
    expect(render('#{arg0}', false)).toBe('false');
  });

  it('encodes %, {, }, :, / and | in values, and nothing else', () => {
    expect(render('#{arg0}', 'a_b:c/d é{t}%|')).toBe('a_b%3Ac%2Fd é%7Bt%7D%25%7C');
    expect(render('x_#{arg0}_:#{arg1}', 'a_b', 'c:d-x')).toBe('x_a_b_:c%3Ad-x');
  });

  it('encodes one character of a separator that has none of them: the first that is neither letter nor digit', () => {
    expect(render('#{arg0}-#{arg1}', 'a-b_c', 'd')).toBe('a%2Db_c-d');
    expect(render('#{arg0}_and_#{arg1}', 'a and_b', 'd')).toBe('a and%5Fb_and_d');
    expect(render('#{arg0}🔒#{arg1}', '🔒', 'é🔓')).toBe('%F0%9F%94%92🔒é🔓');
    expect(render('#{arg0}2#{arg1}', '1', '2')).toBe('12%32');
    expect(render('#{arg0}ab#{arg1}', 'cab', 'b')).toBe('c%61babb');
    expect(render('#{arg0}]^-#{arg1}', ']', 'a-^')).toBe('%5D]^-a-^');
  });

  it('encodes one character for two separators that share it', () => {
    expect(render('#{arg0}-#{arg1}_-#{arg2}', 'a_b', 'c-d', 'e')).toBe('a_b-c%2Dd_-e');
  });

  it.each([
    ['tenant:#{arg0}:order:#{arg1}', ['eu', '1'], 'tenant:eu:order:1'],
    ['tenant:#{arg0}:order:#{arg1}', ['order', 'tenant-1_a'], 'tenant:order:order:tenant-1_a'],
    ['seat/#{arg0}/#{arg1}', ['hamlet', 'A-12'], 'seat/hamlet/A-12'],
    [
      'user:#{arg0}:job:#{arg1}',
      ['0b8f7c1e-9f0e-4a53-8c0e-6d2b8f1c7a90', 'job'],
      'user:0b8f7c1e-9f0e-4a53-8c0e-6d2b8f1c7a90:job:job',
    ],
    ['mail:#{arg0}:#{arg1}', ['ann.lee+x@example.org', 'welcome'], 'mail:ann.lee+x@example.org:welcome'],
    ['report:#{arg0}|#{arg1}', ['2026-07-01', 'eu'], 'report:2026-07-01|eu'],
    ['at:#{arg0}:#{arg1}', ['2026-07-01T10:00:00Z', 'x'], 'at:2026-07-01T10%3A00%3A00Z:x'],
    ['account_#{arg0}_to_#{arg1}', ['7', '8'], 'account_7_to_8'],
    ['account_#{arg0}_to_#{arg1}', ['a_1', 'b_2'], 'account_a%5F1_to_b%5F2'],
    ['#{arg0}-#{arg1}', ['0b8f7c1e-9f0e', 'x'], '0b8f7c1e%2D9f0e-x'],
    ['file:#{arg0}:#{arg1}', ['/var/data/a.txt', '1'], 'file:%2Fvar%2Fdata%2Fa.txt:1'],
    ['{#{arg0}}:#{arg1}:#{arg2}', ['eu', 'order', '7'], '{eu}:order:7'],
  ])('renders the shape %s of %j as %s', (text, values, key) => {
    expect(render(text, ...values)).toBe(key);
  });

  it.each([
    ['post_test_#{arg0}', 'web', 'post_test_web'],
    ['post_test_#{arg0}', 'my_channel', 'post_test_my_channel'],
    ['order:#{arg0}', '9b2d4c1e-7a55-4a53-9f1e-2f6f0a1c7d10', 'order:9b2d4c1e-7a55-4a53-9f1e-2f6f0a1c7d10'],
    ['user:#{arg0}', 'ada.lovelace@example.org', 'user:ada.lovelace@example.org'],
  ])('renders %s with %s as %s', (text, value, key) => {
    expect(render(text, value)).toBe(key);
  });

  it('renders no value that continues the literal text of another template', () => {
    expect(render('order:#{arg0}', 'refund:7')).not.toBe(render('order:refund:#{arg0}', '7'));
    expect(render('a/#{arg0}', 'b/c')).not.toBe(render('a/b/#{arg0}', 'c'));
  });

  it.each([
    undefined,
    null,
    '',
    NaN,
    Infinity,
    {},
    [],
    ['web'],
    new Date(0),
    new String('web'),
    Symbol('web'),
    () => 'web',
  ])('rejects %p', (value) => {
    expect(refusedKey(() => render('#{arg0.channel}', { channel: value }))).toMatchObject({
      source: 'code',
      method: 'PostController.post',
    });
  });

  it.each(['__proto__', 'constructor', 'constructor.name', 'toString', 'id', 'nested.id', 'a.__proto__.b'])(
    'ignores the inherited %s',
    (path) => {
      const body = Object.create({ id: '7', nested: { id: '7' } }) as object;
      expect(refusedKey(() => render(`#{arg0.${path}}`, body)).message).toContain(
        'neither an own property nor an accessor',
      );
    },
  );

  it('reads __proto__ if it is an own property', () => {
    expect(render('#{arg0.__proto__}', JSON.parse('{"__proto__":"p"}'))).toBe('p');
  });

  it('names template, placeholder and method in errors, and never the value', () => {
    const error = refusedKey(() => render('a:#{arg0.card}', { card: { number: 'secret-4111' } }));
    expect(error.message).toBe(
      '#{arg0.card} in the lock key "a:#{arg0.card}" of PostController.post is an object, ' +
        'but it must be a non-empty string, a finite number, a bigint or a boolean.',
    );
    const long = refusedKey(() => render('a:#{arg0}', `secret${'x'.repeat(1024)}`));
    expect(long.message).toContain('longer than 1024 bytes');
    expect(`${long.message}${JSON.stringify(long)}`).not.toContain('secret');
  });

  it('rejects a text of the maximum length of a string', () => {
    const longest = 'x'.repeat(constants.MAX_STRING_LENGTH);
    expect(refusedKey(() => render('a:#{arg0}:#{arg1}', longest, longest)).message).toContain('longer than 1024 bytes');
  });

  it('measures the finished key in bytes', () => {
    expect(render('a#{arg0}', 'x'.repeat(1023))).toHaveLength(1024);
    refusedKey(() => render('a#{arg0}', 'x'.repeat(1024)));
    refusedKey(() => render('#{arg0}', 'é'.repeat(513)));
    refusedKey(() => render('#{arg0}', '%'.repeat(342)));
    refusedKey(() => render('#{arg0}', 'half \ud800'));
  });
});

describe('roots of the request', () => {
  const body = { channel: 'web' };

  it('come from the request if no parameter contains them', () => {
    const request = http({
      body,
      params: { id: 7 },
      query: { q: 'a' },
      headers: { 'x-tenant': 't' },
      ip: '::1',
      user: { id: 3 },
    });
    const text = '#{body.channel}|#{params.id}|#{query.q}|#{headers.X-Tenant}|#{ip}|#{user.id}';
    expect(template(text).render([], request)).toBe('web|7|a|t|%3A%3A1|3');
  });

  it('read accessors of the class of the user', () => {
    class User {
      constructor(private readonly claims: { readonly sub: string }) {}
      get id(): string {
        return this.claims.sub;
      }
    }
    const request = http({ user: new User({ sub: 'ada' }) });
    expect(template('cart:#{user.id}').render([], request)).toBe('cart:ada');
    refusedKey(() => template('#{user.constructor}').render([], request));
  });

  it('come from the validated argument if a parameter contains them', () => {
    const bound = [
      { paramtype: 3, index: 1, property: undefined },
      { paramtype: 5, index: 0, property: 'id' },
    ];
    const request = http({ body: { channel: ' raw ' }, params: { id: ' 42', other: 'o' } });
    expect(template('#{body.channel}', { bound }).render(['x', body], request)).toBe('web');
    expect(template('#{params.id}', { bound }).render([42, body], request)).toBe('42');
    expect(template('#{params.other}', { bound }).render([42, body], request)).toBe('o');
  });

  it('prefer a parameter for the property over the whole body', () => {
    const bound = [
      { paramtype: 3, index: 0, property: undefined },
      { paramtype: 3, index: 1, property: 'channel' },
    ];
    expect(template('#{body.channel}', { bound }).render([{ channel: 'raw' }, 'piped'], http({}))).toBe('piped');
    expect(template('#{body.channel.id}', { bound }).render([{}, { id: 5 }], http({}))).toBe('5');
  });

  it('match named headers in any case', () => {
    const bound = [{ paramtype: 6, index: 0, property: 'X-Tenant' }];
    expect(template('#{headers.x-TENANT}', { bound }).render(['t'], http({ headers: {} }))).toBe('t');
  });

  it('have the source "request" for missing values, and "code" for missing roots', () => {
    expect(refusedKey(() => template('#{body.channel}').render([], http({ body: {} }))).source).toBe('request');
    expect(refusedKey(() => template('#{body.channel}').render([], http({}))).source).toBe('request');
    expect(refusedKey(() => template('a#{body.x}').render([], http({ body: { x: 'x'.repeat(1024) } }))).source).toBe(
      'request',
    );
    const outside = refusedKey(() => template('#{body.channel}').render([{ channel: 'web' }], undefined));
    expect(outside).toMatchObject({
      source: 'code',
      message: expect.stringContaining('write arg0. instead') as string,
    });
  });

  it('have the source "request" for an argument with request data', () => {
    const bound = [{ paramtype: 3, index: 0, property: undefined }];
    expect(refusedKey(() => template('#{arg0.channel}', { bound }).render([{}], http({}))).source).toBe('request');
    expect(refusedKey(() => template('#{arg1.channel}', { bound }).render([{}, {}], http({}))).source).toBe('code');
  });

  it('are rejected on a transport without them: paramtype 6 is the headers in HTTP, and the context in RPC', () => {
    const bound = [{ paramtype: 6, index: 0, property: undefined }];
    const rpc: RequestData = { transport: 'rpc', read: () => ({ id: 'd' }) };
    const error = refusedKey(() => template('#{headers.id}', { bound }).render([{ id: 'context' }], rpc));
    expect(error).toMatchObject({
      source: 'code',
      message: expect.stringContaining('a call by rpc has no "headers"') as string,
    });
    expect(template('#{data.id}').render([], rpc)).toBe('d');
    expect(template('#{data.id}').render([], { ...rpc, transport: 'ws' })).toBe('d');
    expect(template('#{args.id}').render([], { ...rpc, transport: 'graphql' })).toBe('d');
    refusedKey(() => template('#{data.id}').render([], { ...rpc, transport: 'http' }));
  });
});

describe('properties (key-fuzz.spec.ts has more)', () => {
  // Few characters, mostly significant ones, so that the test finds collisions.
  const scarce = fc.string({
    minLength: 1,
    maxLength: 4,
    unit: fc.constantFrom('a', '_', '%', '2', '5', 'F', '{', '}', ':', 'é', '🔒'),
  });
  const between = fc
    .string({
      minLength: 1,
      maxLength: 3,
      unit: fc.constantFrom('a', '_', '2', '5', 'F', ':', '{', '}', 'é', '🔒'),
    })
    // Templates refuse these, because they look like placeholders.
    .filter((text) => !/\{[^\s{}]+\}|:[aF]/.test(text));

  it('two inputs with different texts never share a key', () => {
    const input = fc.record({
      literals: fc.tuple(between, between),
      one: fc.tuple(scarce, scarce, scarce),
      other: fc.tuple(scarce, scarce, scarce),
    });
    fc.assert(
      fc.property(input, ({ literals: [first, second], one, other }) => {
        const made = template(`k#{arg0}${first}#{arg1}${second}#{arg2}`);
        const same = one.every((value, index) => value === other[index]);
        return (made.render(one, undefined) === made.render(other, undefined)) === same;
      }),
      runsOf('inputs of a key template', 100_000),
    );
  });

  it('two splits of the same characters never share a key', () => {
    const input = fc.record({ literal: between, left: scarce, middle: scarce, right: scarce });
    fc.assert(
      fc.property(input, ({ literal, left, middle, right }) => {
        const made = template(`#{arg0}${literal}#{arg1}`);
        const early = made.render([left, middle + literal + right], undefined);
        const late = made.render([left + literal + middle, right], undefined);
        return early !== late;
      }),
      runsOf('splits of a key template', 20_000),
    );
  });
});
