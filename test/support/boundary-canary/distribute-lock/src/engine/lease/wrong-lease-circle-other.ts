import type { One } from './wrong-lease-circle-one.js';

export interface Other {
  readonly one: One;
}
