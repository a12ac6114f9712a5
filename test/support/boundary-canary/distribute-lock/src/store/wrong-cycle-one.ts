import { other } from './wrong-cycle-other.js';

export const one = (): string => other();
