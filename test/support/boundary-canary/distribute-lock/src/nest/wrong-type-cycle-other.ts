import type { One } from './wrong-type-cycle-one.js';

export interface Other {
  readonly one: One;
}
