import { refusedKey } from '../../../../test/support/refused-key.js';
import { KeyPlaceholder } from './key-placeholder.js';
import type { RequestData } from './key-roots.js';

const place = { method: 'Invoices.settle', template: 'invoice:#{...}' };

function read(path: string, value: unknown): string {
  return new KeyPlaceholder(path, place, []).read([value], undefined);
}

describe('KeyPlaceholder', () => {
  const cause = new RangeError('secret');
  const throwing = () => {
    throw cause;
  };

  it.each([
    ['a getter', Object.defineProperty({}, 'id', { get: throwing })],
    ['a proxy that is asked', new Proxy({}, { getOwnPropertyDescriptor: throwing })],
    ['a proxy that is read', new Proxy({ id: 1 }, { get: throwing })],
  ])('rejects with LOCK_KEY and the cause when %s throws', (_, value) => {
    const error = refusedKey(() => read('arg0.id', value));
    expect(error).toMatchObject({ source: 'code', method: 'Invoices.settle', path: 'arg0.id' });
    expect(error.cause).toBe(cause);
    expect(error.message).toContain('#{arg0.id}');
    expect(error.message).not.toContain('secret');
  });

  it('has the source "request" when reading the request throws', () => {
    const request: RequestData = { transport: 'http', read: throwing };
    const error = refusedKey(() => new KeyPlaceholder('query.page', place, []).read([], request));
    expect(error.source).toBe('request');
    expect(error.cause).toBe(cause);
  });

  it('rejects a revoked proxy at the end of the path and within it', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(refusedKey(() => read('arg0', proxy)).message).toContain('is an object');
    expect(refusedKey(() => read('arg0.id', proxy)).message).toContain('reading it threw');
  });

  it('formats a bigint only if it can fit', () => {
    expect(read('arg0', 10n ** 1023n)).toHaveLength(1024);
    expect(read('arg0', -(10n ** 100n))).toBe(`-1${'0'.repeat(100)}`);
    expect(refusedKey(() => read('arg0', 1n << 1_000_000n)).message).toContain('too many digits');
    expect(refusedKey(() => read('arg0', -(1n << 1_000_000n))).message).toContain('too many digits');
  });

  it('reads own properties of arrays and String objects, and no inherited ones', () => {
    expect(read('arg0.length', ['a', 'b'])).toBe('2');
    expect(read('arg0.0', Object('web'))).toBe('w');
    // oxlint-disable-next-line no-sparse-arrays
    for (const path of ['arg0.0', 'arg0.map', 'arg0.-1']) refusedKey(() => read(path, [, 1]));
    for (const path of ['arg0.length', 'arg0.0', 'arg0.name']) refusedKey(() => read(path, 'web'));
    refusedKey(() => read('arg0.name', function named() {}));
  });

  it('reads accessors of classes', () => {
    class Document {
      constructor(protected readonly fields: Record<string, unknown>) {}
      get id(): unknown {
        return this.fields['id'];
      }
      get customer(): Document {
        return new Document({ id: 'inner' });
      }
      set writeOnly(_: string) {}
      method(): string {
        return 'text';
      }
      static {
        Object.defineProperty(this.prototype, 'constructor', { get: () => 'never' });
      }
    }
    class Invoice extends Document {
      override get id(): unknown {
        return `invoice ${String(super.id)}`;
      }
    }
    const invoice = new Invoice({ id: 7 });
    expect(read('arg0.id', invoice)).toBe('invoice 7');
    expect(read('arg0.customer.id', invoice)).toBe('inner');
    for (const name of ['writeOnly', 'method', 'constructor', '__proto__', 'toString']) {
      refusedKey(() => read(`arg0.${name}`, invoice));
    }
  });

  it('reads no accessor of an object that every object inherits from', () => {
    const root = Object.create(null, { id: { get: () => 'polluted' } }) as object;
    refusedKey(() => read('arg0.id', Object.create(root)));
  });

  it('follows a path to any depth', () => {
    const names = Array.from({ length: 2000 }, (_, index) => `n${index}`);
    const deep = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), 'end');
    expect(read(`arg0.${names.join('.')}`, deep)).toBe('end');
  });
});
