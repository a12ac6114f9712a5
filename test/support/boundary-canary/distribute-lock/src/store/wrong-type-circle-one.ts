import type { Other } from './wrong-type-circle-other.js';

export interface One {
  readonly other: Other;
}
