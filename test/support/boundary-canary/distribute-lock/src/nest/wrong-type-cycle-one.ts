import type { Other } from './wrong-type-cycle-other.js';

export interface One {
  readonly other: Other;
}
