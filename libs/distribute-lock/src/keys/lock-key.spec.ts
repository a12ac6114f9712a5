import fc from 'fast-check';

import { runsOf } from '../../../../test/support/runs.js';
import { encodeKeyPart } from './encode-key.js';
import { KeyTemplate } from './key-template.js';
import { type KeyPart, lockKey } from './lock-key.js';

const site = { method: 'Accounts.charge', bound: [], parameters: undefined };
const rendered = (text: string, ...args: unknown[]): string => KeyTemplate.parse(text, site).render(args, undefined);

describe('lockKey', () => {
  it('renders the key of the template for random ids', () => {
    const one = KeyTemplate.parse('acc:#{arg0}', site);
    const two = KeyTemplate.parse('seat_#{arg0}.#{arg1}', site);
    const id = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(lockKey`acc:${a}`).toBe(one.render([a], undefined));
        expect(lockKey`seat_${a}.${b}`).toBe(two.render([a, b], undefined));
      }),
      runsOf('lockKey', 50_000),
    );
  }, 60_000);

  it.each<[KeyPart, string]>([
    [7, 'acc:7'],
    [7n, 'acc:7'],
    [true, 'acc:true'],
    ['refund:7', 'acc:refund%3A7'],
    ['a%b{c}', 'acc:a%25b%7Bc%7D'],
  ])('formats %p as %s', (value, key) => {
    expect(lockKey`acc:${value}`).toBe(key);
    expect(rendered('acc:#{arg0}', value)).toBe(key);
  });

  it.each([undefined, null, '', NaN, Infinity, {}, [], new String('x'), Symbol('x'), 10n ** 2000n])(
    'rejects %p without repeating it',
    (value) => {
      expect(() => lockKey`acc:${value as KeyPart}`).toThrow(
        expect.objectContaining({ code: 'LOCK_KEY', message: expect.stringMatching(/^Value 1 of a key/) as string }),
      );
    },
  );

  it('rejects values without text between them, and keys over 1 KiB', () => {
    expect(() => lockKey`${'a'}${'b'}`).toThrow('between them');
    expect(() => lockKey`${'a'}%${'b'}`).toThrow('"%" is not allowed between two placeholders');
    expect(() => lockKey`a:${'x'.repeat(1023)}`).toThrow('longer than 1024 bytes');
    expect(() => lockKey`acc:#{arg0}`).toThrow('contains "#{"');
  });
});

describe('encodeKeyPart', () => {
  it('encodes as a template with one placeholder does', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 100 }), (text) => {
        expect(`acc:${encodeKeyPart(text)}`).toBe(rendered('acc:#{arg0}', text));
      }),
    );
  });
});
