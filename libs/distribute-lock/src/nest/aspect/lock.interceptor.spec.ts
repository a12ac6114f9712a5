import { type CallHandler, type ExecutionContext, Logger } from '@nestjs/common';
import { firstValueFrom, NEVER, Observable, of, throwError } from 'rxjs';

import { LeaseLostError, LockContendedError, LockShutdownError, LockUnavailableError } from '../../errors.js';
import { findCurrentLease } from '../../engine/lease/held-leases.js';
import { MultiKeyLease } from '../../engine/lease/multi-key-lease.js';
import type { Lease } from '../../engine/lease/lease.js';
import type { LockRequest } from '../../engine/lease/lock-call.js';
import type { LockEngine } from '../../engine/lock-engine.js';
import { LOCK_DEFAULTS } from '../../options/lock-options.js';
import { CurrentLease } from '../decorators/current-lease.decorator.js';
import { DistributeLock } from '../decorators/distribute-lock.decorator.js';
import { ASPECT } from '../tokens.js';
import { CallScope } from './call-scope.js';
import { LockConnections } from './lock-connections.js';
import { LockInterceptor } from './lock.interceptor.js';
import type { TransportErrors } from './transport-errors.js';

/** Grants every lock and records the order of calls. */
class FakeEngine implements Pick<LockEngine, 'defaults' | 'acquire'> {
  readonly log: string[] = [];
  readonly calls: LockRequest[] = [];
  readonly losing = new AbortController();
  /** Replaced in tests to delay a grant. */
  granting: Promise<void> = Promise.resolve();
  refusal: Error | undefined;
  private reads = 0;

  get defaults() {
    this.reads += 1;
    return LOCK_DEFAULTS;
  }

  get timesResolved(): number {
    return this.reads;
  }

  async acquire(call: LockRequest): Promise<Lease> {
    const { key } = call;
    if (typeof key !== 'string')
      return new MultiKeyLease(await Promise.all(key.map((each) => this.acquire({ ...call, key: each }))));
    this.calls.push(call);
    await this.granting;
    if (this.refusal !== undefined) throw this.refusal;
    this.log.push(`+${key}`);
    return {
      key,
      keys: [key],
      fencingToken: this.calls.length,
      signal: this.losing.signal,
      isHeld: () => !this.losing.signal.aborted,
      release: async () => void this.log.push(`-${key}`),
    } as unknown as Lease;
  }
}

const errors = { map: (error: unknown) => new Error('mapped', { cause: error }) } as unknown as TransportErrors;

function setUp() {
  const engine = new FakeEngine();
  const aspect = new LockInterceptor(
    new LockConnections(new Map([['default', engine as unknown as LockEngine]]), {
      contendedStatus: 409,
      abortOnDisconnect: true,
      errors: {},
      presets: new Map(),
    }),
    errors,
  );
  const give = <T extends object>(instance: T): T => Object.assign(instance, { [ASPECT]: aspect });
  return { engine, aspect, give };
}

function contextOf(parts: object, type = 'http'): ExecutionContext {
  return { getType: () => type, switchToHttp: () => parts } as unknown as ExecutionContext;
}

beforeAll(() => Logger.overrideLogger(false));

describe('around()', () => {
  it('acquires, calls the method as the holder, and releases after its result', async () => {
    const { engine, give } = setUp();
    class Orders {
      @DistributeLock({ key: 'order:#{arg0}', ttl: '10s' })
      async open(id: number): Promise<string> {
        engine.log.push(`run ${findCurrentLease()?.key ?? '-'}`);
        await Promise.resolve();
        engine.log.push('ran');
        return `opened ${id}`;
      }
    }
    expect(await give(new Orders()).open(7)).toBe('opened 7');
    expect(engine.log).toEqual(['+order:7', 'run order:7', 'ran', '-order:7']);
    expect(engine.calls[0]).toMatchObject({
      key: 'order:7',
      name: 'Orders.open',
      scoped: true,
      options: { ttlMs: 10_000, waitMs: 0 },
    });
  });

  it('resolves the options once per lock', async () => {
    const { engine, give } = setUp();
    class Orders {
      @DistributeLock({ key: 'a' })
      async open(): Promise<void> {}
    }
    const orders = give(new Orders());
    for (let call = 0; call < 5; call += 1) await orders.open();
    expect(engine.timesResolved).toBe(1);
    expect(new Set(engine.calls.map(({ options }) => options)).size).toBe(1);
  });

  it('releases and rejects with the error of the method', async () => {
    const { engine, give } = setUp();
    const error = new LockContendedError('of a lock inside', { retryAfterMs: 1 });
    class Orders {
      @DistributeLock({ key: 'a', onContended: 'skip' })
      async open(): Promise<void> {
        throw error;
      }

      @DistributeLock({ key: 'b' })
      sync(): Promise<void> {
        throw error;
      }
    }
    await expect(give(new Orders()).open()).rejects.toBe(error);
    await expect(give(new Orders()).sync()).rejects.toBe(error);
    expect(engine.log).toEqual(['+a', '-a', '+b', '-b']);
  });

  it('ends a contended call as onContended specifies', async () => {
    const { engine, give } = setUp();
    engine.refusal = new LockContendedError('taken', { retryAfterMs: 5 });
    class Orders {
      readonly shop = 'ours';
      ran = 0;

      @DistributeLock({ key: 'a' })
      async thrown(): Promise<number> {
        return (this.ran += 1);
      }

      @DistributeLock({ key: 'a', onContended: 'skip' })
      async skipped(): Promise<number | undefined> {
        return (this.ran += 1);
      }

      @DistributeLock({
        key: 'a:#{arg0}',
        onContended(this: Orders, info, id: number, more: string) {
          return [this.shop, info, id, more];
        },
      })
      async answered(_id: number, _more: string): Promise<unknown> {
        return (this.ran += 1);
      }

      @DistributeLock({ key: 'a', onContended: 'skip' })
      async *pages(): AsyncGenerator<number> {
        yield (this.ran += 1);
      }

      @DistributeLock({ key: 'a', onContended: () => of('busy') })
      observable(): Observable<unknown> {
        return of((this.ran += 1));
      }
    }
    const orders = give(new Orders());
    await expect(orders.thrown()).rejects.toBe(engine.refusal);
    expect(await orders.skipped()).toBeUndefined();
    const info = { name: 'Orders.answered', code: 'LOCK_CONTENDED', retryAfterMs: 5, error: engine.refusal };
    expect(await orders.answered(7, 'more')).toEqual(['ours', info, 7, 'more']);
    expect(await orders.pages().next()).toEqual({ done: true, value: undefined });
    expect(await firstValueFrom(orders.observable())).toBe('busy');
    expect(orders.ran).toBe(0);
  });

  it('rejects with every other error, whatever onContended specifies', async () => {
    const { engine, give } = setUp();
    class Orders {
      @DistributeLock({ key: 'a', onContended: 'skip' })
      async skipped(): Promise<void> {}

      @DistributeLock({ key: 'a', onContended: () => 'busy' })
      async answered(): Promise<string> {
        return 'ran';
      }
    }
    for (const refusal of [new LockUnavailableError('mute'), new LockShutdownError('stopping'), new TypeError('bug')]) {
      engine.refusal = refusal;
      await expect(give(new Orders()).skipped()).rejects.toBe(refusal);
      await expect(give(new Orders()).answered()).rejects.toBe(refusal);
    }
  });

  it('rejects with LEASE_LOST after the work with onLost "throw"', async () => {
    const { engine, give } = setUp();
    const loss = new LeaseLostError('gone', { fencingToken: 1, reason: 'outage' });
    class Orders {
      @DistributeLock({ key: 'a', onLost: 'throw' })
      async strict(): Promise<string> {
        engine.losing.abort(loss);
        engine.log.push('ended');
        return 'done';
      }

      @DistributeLock({ key: 'b' })
      async lenient(): Promise<string> {
        return 'done';
      }
    }
    await expect(give(new Orders()).strict()).rejects.toBe(loss);
    expect(engine.log).toEqual(['+a', 'ended', '-a']);
    expect(await give(new Orders()).lenient()).toBe('done');
  });

  it('acquires stacked locks from top to bottom and passes the innermost lease to the method', async () => {
    const { engine, give } = setUp();
    class Orders {
      @DistributeLock({ key: 'outer' })
      @DistributeLock({ key: 'inner' })
      async open(_id: number, @CurrentLease() lease?: Lease): Promise<unknown> {
        return [lease?.key, findCurrentLease()?.key, findCurrentLease('outer')?.key];
      }
    }
    expect(await give(new Orders()).open(1)).toEqual(['inner', 'inner', 'outer']);
    expect(engine.log).toEqual(['+outer', '+inner', '-inner', '-outer']);
  });

  it('never starts an Observable that was unsubscribed during the acquisition', async () => {
    const { engine, give } = setUp();
    let grant = (): void => undefined;
    engine.granting = new Promise((resolve) => (grant = resolve));
    let ran = false;
    class Orders {
      @DistributeLock({ key: 'a' })
      watch(): Observable<never> {
        ran = true;
        return NEVER;
      }
    }
    const subscription = give(new Orders()).watch().subscribe();
    subscription.unsubscribe();
    expect(engine.calls[0]?.signal?.aborted).toBe(true);
    grant();
    await new Promise((resolve) => setImmediate(resolve));
    expect(ran).toBe(false);
    expect(engine.log).toEqual(['+a', '-a']);
  });

  it('observes the engine only if the call may wait', async () => {
    const { engine, give } = setUp();
    class Orders {
      @DistributeLock({ key: 'a' })
      async now(): Promise<void> {}

      @DistributeLock({ key: 'b', wait: '1s' })
      async later(): Promise<void> {}
    }
    let listeners = 0;
    const response = { once: () => (listeners += 1) };
    const scope = new CallScope(contextOf({ getResponse: () => ({ raw: response }) }));
    await scope.run(() => give(new Orders()).now());
    expect([engine.calls[0]?.endsWait, listeners]).toEqual([undefined, 0]);
    await scope.run(() => give(new Orders()).later());
    await scope.run(() => give(new Orders()).later());
    expect([engine.calls[1]?.endsWait?.aborted, listeners]).toEqual([false, 1]);
  });

  it('runs the steps of a generator inside the request of the call', async () => {
    const { engine, give } = setUp();
    class Orders {
      @DistributeLock({ key: 'outer' })
      async *pages(): AsyncGenerator {
        yield 1;
        yield this.inner();
      }

      @DistributeLock({ key: 'inner:#{query.page}' })
      async inner(): Promise<number> {
        return 2;
      }
    }
    const scope = new CallScope(contextOf({ getRequest: () => ({ query: { page: 'p' } }) }));
    const pages = scope.run(() => give(new Orders()).pages());
    expect([await pages.next(), await pages.next(), await pages.next()].map(({ value }) => value)).toEqual([
      1,
      2,
      undefined,
    ]);
    expect(engine.log).toEqual(['+outer', '+inner:p', '-inner:p', '-outer']);
  });
});

describe('CallScope.clientLeft', () => {
  const signalOf = (response: object) => new CallScope(contextOf({ getResponse: () => response })).clientLeft;

  it('aborts also if the engine disconnected earlier, and not after a response', () => {
    expect(signalOf({ once: () => undefined, destroyed: true })?.aborted).toBe(true);
    expect(signalOf({ once: () => undefined, destroyed: true, writableFinished: true })?.aborted).toBe(false);
    expect(signalOf({})).toBeUndefined();
    expect(new CallScope(contextOf({}, 'rpc')).clientLeft).toBeUndefined();
  });
});

describe('intercept()', () => {
  const handler = (result: Observable<unknown>): CallHandler => ({ handle: () => result });

  it('opens one scope per request and maps errors once, however often it runs', async () => {
    const { aspect } = setUp();
    const context = contextOf({});
    const scopes: unknown[] = [];
    const inner = new Observable((subscriber) => {
      scopes.push(CallScope.current);
      subscriber.next('value');
      subscriber.complete();
    });
    const twice: CallHandler = { handle: () => aspect.intercept(context, handler(inner)) };
    expect(await firstValueFrom(aspect.intercept(context, twice))).toBe('value');
    expect(scopes).toEqual([expect.objectContaining({ context })]);
    expect(CallScope.current).toBeUndefined();

    const error = new Error('mine');
    const failing: CallHandler = { handle: () => aspect.intercept(context, handler(throwError(() => error))) };
    const seen: unknown = await firstValueFrom(aspect.intercept(context, failing)).catch((caught: unknown) => caught);
    expect(seen).toMatchObject({ message: 'mapped', cause: error });
  });
});
