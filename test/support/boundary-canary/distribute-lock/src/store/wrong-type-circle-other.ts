import type { One } from './wrong-type-circle-one.js';

export interface Other {
  readonly one: One;
}
