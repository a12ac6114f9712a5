import { stripLua } from './lua-text.mjs';

describe('stripLua', () => {
  it('removes comments, blank lines and indentation', () => {
    const lua = 'local a = 1 -- one\n\n--[[ KEYS[9]\n ]]\n--[==[ ]] ]==]  return--[[x]]a\n';

    expect(stripLua(lua)).toBe('local a = 1\nreturn a');
  });

  it('does not change strings', () => {
    const lua = String.raw`return "--a\"--b" .. '-- \' --' .. [[ --c ]] .. [=[ ]] --d ]=]`;

    expect(stripLua(lua)).toBe(lua);
  });

  it('keeps the lines of a long string', () => {
    expect(stripLua('return [[a  \n\n--b]] -- c')).toBe('return [[a  \n\n--b]]');
  });

  it.each(['return "a', 'return [[a', '--[[ a', "return 'a\n'"])('rejects %j, which is never closed', (lua) => {
    expect(() => stripLua(lua)).toThrow('never closed');
  });
});
