import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileFolder } from './lua-compiler.mjs';
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

describe('compileFolder', () => {
  let folder;
  const compile = (files) => {
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
    return Object.values(compileFolder(folder)).join('');
  };
  const script = (header, body) => `--[[\n  Does something.\n${header}\n  @returns [done: number]\n]]\n${body}\n`;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lua-'));
    mkdirSync(join(folder, 'lib'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('creates a constant for each script, with each part included once', () => {
    const compiled = compile({
      'lib/one.lua': '--@include lib/two.lua\nlocal one = two\n',
      'lib/two.lua': 'local two = `${2}\\n`\n',
      'try-lock.lua': script('  @key lock: string', '--@include lib/two.lua\n--@include lib/one.lua\nreturn KEYS[1]'),
    });

    expect(compiled).toContain("export const tryLockScript: LuaScript = {\n  name: 'try-lock',\n  sha1: '");
    expect(compiled).toContain('lua: `local two = \\`\\${2}\\\\n\\`\nlocal one = two\nreturn KEYS[1]`,');
  });

  it('writes a part of two scripts once', () => {
    const compiled = compile({
      'lib/one.lua': '-- One.\nlocal one = `1`\n',
      'lib/two-three.lua': 'local two\n--@include lib/one.lua\nlocal three\n',
      'a.lua': script('', '--@include lib/two-three.lua\nreturn 1'),
      'b.lua': script('', '--@include lib/one.lua\nreturn 2'),
      'c.lua': script('', '--@include lib/two-three.lua\nreturn 3'),
    });

    expect(compiled).toContain('const onePart = `local one = \\`1\\`\n`;\n');
    expect(compiled).toContain('const twoThreePart = `local two\n`;\n');
    expect(compiled).toContain('const twoThreePart2 = `local three\n`;\n');
    expect(compiled).toContain('lua: `${twoThreePart}${onePart}${twoThreePart2}return 1`,');
    expect(compiled).toContain('lua: `${onePart}return 2`,');
  });

  it('creates a second text for Redis Cluster where a script depends on a single server', () => {
    const compiled = compile({
      'lib/one-primary.lua': 'local counted = true\n',
      'lib/cluster.lua': 'local counted = false\n',
      'both.lua': script('', '--@include lib/one-primary.lua\nreturn counted'),
      'one.lua': script('', 'return 1'),
    });

    const sha1 = createHash('sha1').update('local counted = false\nreturn counted').digest('hex');
    expect(compiled).toContain('    lua: `local counted = true\nreturn counted`,\n  },\n');
    expect(compiled).toContain(`  '${sha1}',\n  \`local counted = true\`,\n  \`local counted = false\`,\n);`);
    expect(compiled.match(/= withCluster\(/g)).toHaveLength(1);
  });

  it('allows variable indices for a repeated group', () => {
    const header = '  @key  first: string\n  @key  lock...: string  one per command\n  @arg  ttlMs...: number';

    expect(() =>
      compile({ 'a.lua': script(header, 'return KEYS[1] .. KEYS[7] .. KEYS[i + 1] .. ARGV[n]') }),
    ).not.toThrow();
  });

  it.each([
    ['a.lua: has no header', 'return 1'],
    ['a.lua: its header does not say what it @returns', '--[[ @key a: string ]]\nreturn 1'],
    ['a.lua: uses KEYS[2], but its header declares 1 @key', script('  @key a: string', 'return KEYS[2]')],
    ['a.lua: uses KEYS[0]', script('  @key a: string', 'return KEYS[0]')],
    ['a.lua: uses KEYS[i], but its header declares no repeated group', script('  @key a: string', 'return KEYS[i]')],
    ['a.lua: uses ARGV[1], but its header declares 0 @arg', script('', 'return ARGV[1]')],
    ['a.lua: includes lib/no.lua, which does not exist', script('', '--@include lib/no.lua')],
    ['a.lua: includes ../a.lua, which is not of the form lib/name.lua', script('', '--@include ../a.lua')],
  ])('refuses: %s', (message, text) => {
    expect(() => compile({ 'a.lua': text })).toThrow(message);
  });
});
