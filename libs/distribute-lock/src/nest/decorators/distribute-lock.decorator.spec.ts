import { Injectable, SetMetadata } from '@nestjs/common';
import { Observable, of } from 'rxjs';

import type { Lease } from '../../engine/lease/lease.js';
import { locksOf } from '../aspect/lock-metadata.js';
import { CurrentLease } from './current-lease.decorator.js';
import { DistributeLock } from './distribute-lock.decorator.js';

interface Invoice {
  readonly id: string;
}

describe('@DistributeLock at import', () => {
  const decorate = (options: unknown, method: unknown = async () => undefined) => {
    class Invoices {}
    const decorator = DistributeLock(options as { key: string }) as MethodDecorator;
    decorator(Invoices.prototype, 'settle', { value: method, configurable: true, writable: true });
  };

  it.each([
    [{}, /Invoices\.settle.*"key"|"key" of Invoices\.settle/],
    [{ key: '' }, /Invoices\.settle.*empty/],
    [{ key: '#{invoice.id}' }, /Invoices\.settle.*"invoice".*arg0\./],
    [{ key: '#{arg0' }, /Invoices\.settle/],
    [{ key: 'a', tll: '1s' }, /Invoices\.settle.*"tll" is not known/],
    [{ key: 'a', ttl: '1 fortnight' }, /Invoices\.settle.*"ttl"/],
    [{ key: 'a', ttl: 49 }, /Invoices\.settle.*"ttl" is 49/],
    [{ key: 'a', wait: -1 }, /Invoices\.settle.*"wait" is -1/],
    [{ key: 'a', ttl: null }, /Invoices\.settle.*"ttl" is null/],
    [{ key: 'a', renew: false, ttl: '1s', minHold: '2s' }, /Invoices\.settle.*"minHold"/],
    [{ key: 'a', onContended: 'ignore' }, /Invoices\.settle.*"onContended"/],
    [{ key: 'a', onLost: 'ignore' }, /Invoices\.settle.*"onLost"/],
    [{ key: 'a', contendedStatus: 200 }, /Invoices\.settle.*"contendedStatus"/],
    [{ key: 'a', connectionName: '' }, /Invoices\.settle.*"connectionName"/],
    [undefined, /Invoices\.settle.*options are undefined, but they must be an object/],
    ['order', /Invoices\.settle.*options are "order", but they must be an object/],
  ])('rejects %j, naming class, method and option', (options, message) => {
    expect(() => decorate(options)).toThrow(message);
    expect(() => decorate(options)).toThrow(expect.objectContaining({ code: 'LOCK_CONFIGURATION' }));
  });

  it('accepts options that the defaults of the module may complete', () => {
    expect(() => decorate({ key: 'a', renew: false, minHold: '1m' })).not.toThrow();
  });

  it('names the missing setting when it is compiled as a standard decorator', () => {
    const standard = DistributeLock({ key: 'a' }) as unknown as (target: unknown, context: object) => void;
    for (const kind of ['method', 'class']) {
      expect(() => standard(class Invoices {}, { kind, name: 'settle' })).toThrow('"experimentalDecorators"');
    }
  });

  it('rejects a generator, whose body would run without the lock', () => {
    const values = function* (): Generator<number> {
      yield 1;
    };
    expect(() => decorate({ key: 'a' }, values)).toThrow('Invoices.settle is a generator');
  });

  it('rejects classes without handlers, static methods and accessors', () => {
    const lock = DistributeLock({ key: 'a' }) as (...given: unknown[]) => void;
    class Invoices {}
    expect(() => lock(Invoices)).toThrow('class Invoices finds no handler');
    expect(() => lock(Invoices, 'settle', { value: async () => undefined })).toThrow('static method: Invoices.settle');
    expect(() => lock(Invoices.prototype, 'total', { get: () => 1 })).toThrow('Invoices.total is an accessor');
    expect(() => lock(Invoices.prototype, 'total', undefined)).toThrow('Invoices.total is an accessor');
  });

  it('refuses an argument that the method does not have', () => {
    const wrong = () => {
      class Wrong {
        // The cast simulates callers without types.
        @(DistributeLock({ key: '#{arg1}' }) as MethodDecorator)
        async settle(_invoice: Invoice): Promise<void> {}
      }
      return Wrong;
    };
    expect(wrong).toThrow(/Wrong\.settle.*uses arg1/);
    class Right {
      @DistributeLock({ key: '#{arg2}' })
      async settle(...ids: string[]): Promise<string[]> {
        return ids;
      }
    }
    expect(Right).toBeDefined();
  });
});

describe('@DistributeLock on a class', () => {
  const Route = (path: string) => SetMetadata('path', path);
  const templates = (type: { prototype: object }, name: string) =>
    locksOf(type.prototype)
      .get(name)
      ?.map(({ template }) => template);

  class Base {
    @Route('base')
    async inherited(): Promise<string> {
      return 'inherited';
    }

    @Route('base')
    async overridden(): Promise<void> {}
  }

  @DistributeLock({ key: 'outer' })
  @DistributeLock({ key: 'inner' })
  class Invoices extends Base {
    @DistributeLock({ key: 'own' })
    @Route('own')
    async own(): Promise<void> {}

    @Route('late')
    @DistributeLock({ key: 'own' })
    async late(): Promise<void> {}

    @Route('sync')
    sync(): number {
      return 1;
    }

    override async overridden(): Promise<void> {}

    async helper(): Promise<void> {}

    get total(): number {
      return 1;
    }
  }

  it('covers declared and inherited handlers, outside their own locks', () => {
    expect(templates(Invoices, 'inherited')).toEqual(['inner', 'outer']);
    expect(templates(Invoices, 'own')).toEqual(['own', 'inner', 'outer']);
    expect(templates(Invoices, 'late')).toEqual(['own', 'inner', 'outer']);
    expect(templates(Invoices, 'sync')).toEqual(['inner', 'outer']);
    expect([...locksOf(Invoices.prototype).keys()]).toHaveLength(4);
  });

  it('does not change the base class, other methods, and metadata', async () => {
    expect(await new Base().inherited()).toBe('inherited');
    expect(new Invoices().total).toBe(1);
    const inherited = Reflect.get(Invoices.prototype, 'inherited') as () => unknown;
    expect(Reflect.getMetadata('path', inherited)).toBe('base');
    expect(Reflect.getMetadata('__interceptors__', inherited)).toHaveLength(1);
    expect(Reflect.getMetadata('__interceptors__', Reflect.get(Base.prototype, 'inherited') as object)).toBeUndefined();
    await expect(new Invoices().inherited()).rejects.toMatchObject({ code: 'LOCK_CONFIGURATION' });
  });

  it('names the handler for which the key is invalid', () => {
    const lock = DistributeLock({ key: '#{arg1}' }) as (target: object) => void;
    expect(() => {
      class Wrong {
        @Route('own')
        async settle(_invoice: Invoice): Promise<void> {}
      }
      lock(Wrong);
    }).toThrow(/Wrong\.settle.*uses arg1/);
  });

  it('is checked by the compiler as far as possible', () => {
    const declare = () => {
      // @ts-expect-error the root is unknown
      @DistributeLock({ key: '#{invoice.id}' })
      class Wrong {}

      // @ts-expect-error the placeholder is not closed
      @DistributeLock({ key: '#{body.id' })
      class Open {}

      class Right {
        // @ts-expect-error a property is not a method
        @DistributeLock({ key: 'a' })
        readonly property = 1;
      }
      return [Wrong, Open, Right];
    };
    expect(declare).toThrow();

    @DistributeLock({ key: 'order:#{body.id}:#{arg3}:#{params.id}', ttl: '10s' })
    abstract class Generic<T> {
      abstract one(value: T): Promise<void>;

      @Route('b')
      async two(...values: T[]): Promise<T[]> {
        return values;
      }
    }
    expect(templates(Generic as unknown as { prototype: object }, 'two')).toHaveLength(1);
  });
});

describe('a locked method', () => {
  const Note = (text: string) => SetMetadata(text, text);

  it('keeps name, length and the metadata of decorators below and above', () => {
    class Invoices {
      @Note('above')
      @DistributeLock({ key: 'a' })
      @DistributeLock({ key: 'b' })
      @Note('below')
      async settle(_invoice: Invoice, _day: number): Promise<void> {}
    }
    const settle = Reflect.get(Invoices.prototype, 'settle') as () => unknown;
    expect([settle.name, settle.length]).toEqual(['settle', 2]);
    expect(Reflect.getMetadata('above', settle)).toBe('above');
    expect(Reflect.getMetadata('below', settle)).toBe('below');
    expect(Reflect.getMetadata('__interceptors__', settle)).toHaveLength(1);
  });

  it('rejects in the form of its result', async () => {
    class Invoices {
      @DistributeLock({ key: 'a' })
      async settle(): Promise<void> {}

      @DistributeLock({ key: 'a' })
      settled(): Observable<number> {
        return of(1);
      }

      @DistributeLock({ key: 'a' })
      async *pages(): AsyncGenerator<number> {
        yield 1;
      }
    }
    const invoices = new Invoices();
    const refused = expect.objectContaining({ code: 'LOCK_CONFIGURATION' }) as unknown;
    await expect(invoices.settle()).rejects.toEqual(refused);
    await expect(invoices.pages().next()).rejects.toEqual(refused);
    const error = await new Promise((resolve) => invoices.settled().subscribe({ error: resolve }));
    expect(error).toEqual(refused);
  });
});

describe('@CurrentLease', () => {
  it('rejects constructors and static methods', () => {
    const parameter = CurrentLease();
    class Invoices {}
    expect(() => parameter(Invoices, undefined, 0)).toThrow('must be applied to a parameter of a non-static method');
    expect(() => parameter(Invoices, 'settle', 0)).toThrow('non-static');
  });
});

describe('types', () => {
  it('reject methods that cannot be locked, and functions that do not fit the method', () => {
    const declare = () => {
      @Injectable()
      class Invoices {
        // @ts-expect-error acquiring is asynchronous, so the method must be too
        @DistributeLock({ key: 'a' })
        sync(): number {
          return 1;
        }

        // @ts-expect-error a method that is sometimes synchronous
        @DistributeLock({ key: 'a' })
        sometimes(): Promise<number> | number {
          return 1;
        }

        // @ts-expect-error the method has a number where the function wants an invoice
        @DistributeLock({ key: (invoice: Invoice) => invoice.id })
        async wrongKey(_id: number): Promise<void> {}

        // @ts-expect-error the function wants more arguments than the method has
        @DistributeLock({ key: (invoice: Invoice, day: number) => `${invoice.id}:${day}` })
        async moreThanThereIs(_invoice: Invoice): Promise<void> {}

        // @ts-expect-error a key is a string
        @DistributeLock({ key: (id: number) => id })
        async noString(_id: number): Promise<void> {}

        // @ts-expect-error onContended takes the arguments of the method
        @DistributeLock({ key: 'a', onContended: (_info, invoice: Invoice) => invoice })
        async wrongAnswer(_id: number): Promise<unknown> {
          return undefined;
        }

        // @ts-expect-error no such option
        @DistributeLock({ key: 'a', tll: 1 })
        async noSuchOption(): Promise<void> {}

        // @ts-expect-error a lock needs a key
        @DistributeLock({ ttl: 1 })
        async noKey(): Promise<void> {}

        // @ts-expect-error one key or several, not both
        @DistributeLock({ key: 'a', keys: ['b'] })
        async both(): Promise<void> {}

        // @ts-expect-error the second template does not fit
        @DistributeLock({ keys: ['a:#{arg0.id}', 'a:#{arg0.idd}'] })
        async wrongKeys(_invoice: Invoice): Promise<void> {}

        // @ts-expect-error the method has a number where the function wants an invoice
        @DistributeLock({ keys: (invoice: Invoice) => [invoice.id] })
        async wrongKeysFunction(_id: number): Promise<void> {}

        // @ts-expect-error several keys are a list
        @DistributeLock({ keys: (id: number) => `${id}` })
        async noList(_id: number): Promise<void> {}
      }
      return Invoices;
    };
    expect(declare).toThrow();
  });

  it('accept every method with an asynchronous result', () => {
    class Invoices {
      @DistributeLock({ key: (invoice: Invoice) => invoice.id, wait: '5s' })
      async first(_invoice: Invoice, _more?: number): Promise<void> {}

      @DistributeLock({ key: (...ids: string[]) => ids.join(), onContended: 'skip' })
      async rest(..._ids: string[]): Promise<void> {}

      @DistributeLock({ key: 'a:#{arg0}', onContended: (info, id) => `${info.name} ${String(id)}` })
      async generic<T extends string>(id: T, @CurrentLease() _lease?: Lease): Promise<T> {
        return id;
      }

      @DistributeLock({ keys: ['a:#{arg0.id}', 'b'], wait: '1s' })
      async several(_invoice: Invoice): Promise<void> {}

      @DistributeLock({ keys: (invoices: readonly Invoice[]) => invoices.map(({ id }) => id) })
      async list(_invoices: readonly Invoice[]): Promise<void> {}

      @DistributeLock({ key: () => 'a' })
      protected async hidden(): Promise<void> {}

      @DistributeLock({ key: 'a' })
      async *pages(): AsyncGenerator<number> {
        yield 1;
      }

      @DistributeLock({ key: 'a' })
      observable(): Observable<number> {
        return of(1);
      }

      @DistributeLock({ key: 'a' })
      async mixed(): Promise<number | Observable<number>> {
        return 1;
      }
    }
    expect(Invoices).toBeDefined();
  });
});
