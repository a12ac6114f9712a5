import { printable } from './messages.js';

describe('A key in a line of text', () => {
  it('cannot move the cursor, or begin another line', () => {
    expect(printable('post:x\u001b[2Kpayroll\nnightly')).toBe('post:x\\u001b[2Kpayroll\\nnightly');
    expect(printable('Straße:#42')).toBe('Straße:#42');
  });
});
