import { serialized } from './written-command.js';

describe('serialized', () => {
  it.each([
    [['a', 'lock:1'], '$1\r\na\r\n$6\r\nlock:1\r\n'],
    [['a', 'größe', '🔒'], '$1\r\na\r\n$7\r\ngröße\r\n$4\r\n🔒\r\n'],
    [[''], '$0\r\n\r\n'],
    [['\ud800', '\udc00'], '$3\r\n\ud800\r\n$3\r\n\udc00\r\n'],
  ])('serializes %j with the bytes of each argument', (args, text) => expect(serialized(args)).toBe(text));
});
