import type { LockStore } from '../../libs/distribute-lock/src/store/lock-store.js';

/** Counts of the commands of a process. */
export interface CommandCounts {
  commands: number;
  /** Replies that confirm a place in the queue. */
  queued: number;
}

/** The store, with its commands counted. */
export function counting(store: LockStore, counts: CommandCounts): LockStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (!['acquire', 'acquireAll', 'release', 'renew', 'renewOne', 'downgrade'].includes(String(name)))
        return value.bind(target) as unknown;
      return async (...args: unknown[]) => {
        counts.commands += 1;
        const answer: unknown = await Reflect.apply(value, target, args);
        if ((answer as { outcome?: string }).outcome === 'queued') counts.queued += 1;
        return answer;
      };
    },
  });
}
