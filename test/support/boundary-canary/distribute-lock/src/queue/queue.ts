export const queue = 'a row above lease';
