import type { LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';

/** Replaces one kind of command. It may call `ask` for the reply of the store, and settles at any time. */
export type Detour = (ask: () => Promise<unknown>) => Promise<unknown>;

export type Detours = Partial<
  Record<
    'subscribe' | 'acquire' | 'acquireAll' | 'release' | 'renew' | 'downgrade' | 'force' | 'move' | 'keep' | 'mark',
    Detour
  >
>;

/** A store whose commands pass through the `detours` that are set at the time of the call. */
export function withDetours<T extends object = LockStore>(store: T, detours: Detours): T {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'tickets' && value instanceof Object) return withDetours(value, detours);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const ask = async (): Promise<unknown> => Reflect.apply(value, target, args) as unknown;
        const detour = detours[name as keyof Detours];
        return detour === undefined ? (Reflect.apply(value, target, args) as unknown) : detour(ask);
      };
    },
  });
}

/** A command that is executed when the test calls `execute()`. */
export class LateCommand {
  execute = (): void => undefined;

  readonly detour: Detour = async (ask) => {
    await new Promise<void>((resolve) => (this.execute = resolve));
    return ask();
  };
}

/** Commands are executed at once; their replies arrive when the test calls `arrive()`. */
export class LateAnswers {
  private held: (() => void)[] = [];

  readonly detour: Detour = async (ask) => {
    const answer = await ask();
    await new Promise<void>((resolve) => this.held.push(resolve));
    return answer;
  };

  get size(): number {
    return this.held.length;
  }

  arrive(): void {
    for (const arrives of this.held.splice(0)) arrives();
  }
}
