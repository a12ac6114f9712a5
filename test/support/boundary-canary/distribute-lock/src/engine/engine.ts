export const engine = 'a row above lease';
