import { one } from './wrong-cycle-one.js';

export const other = (): string => one();
