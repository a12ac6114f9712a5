/** redlock 5 has types, but its `exports` do not include them. */
declare module 'redlock' {
  import type { Redis } from 'ioredis';

  interface Settings {
    readonly retryCount: number;
    readonly retryDelay: number;
  }

  export default class Redlock {
    constructor(clients: Iterable<Redis>, settings?: Partial<Settings>);
    using<T>(resources: string[], duration: number, routine: (signal: AbortSignal) => Promise<T>): Promise<T>;
  }
}
