import type { Other } from './wrong-lease-circle-other.js';

export interface One {
  readonly other: Other;
}
