import type { LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';

/** What happens to one kind of command: it asks the store, or does not, and answers when it likes. */
export type Detour = (ask: () => Promise<unknown>) => Promise<unknown>;

export type Detours = Partial<Record<'acquire' | 'acquireAll' | 'release' | 'renew' | 'downgrade', Detour>>;

/** The store, with its commands going another way for as long as `detours` names one for them. */
export function withDetours(store: LockStore, detours: Detours): LockStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const ask = async (): Promise<unknown> => Reflect.apply(value, target, args) as unknown;
        const detour = detours[name as keyof Detours];
        return detour === undefined ? (Reflect.apply(value, target, args) as unknown) : detour(ask);
      };
    },
  });
}

/** Commands are applied at once, and answered when somebody says so. */
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
