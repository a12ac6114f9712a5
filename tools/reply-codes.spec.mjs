import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkLuaReplies,
  checkReplyLines,
  checkTypeScriptReplies,
  readReplyCodes,
  replyCodesModule,
  withReplyNumbers,
} from './reply-codes.mjs';

const CODES = {
  locks: { GRANTED: { code: 1, means: 'Granted.' }, LOST: { code: 6, means: 'Lost.' } },
  votes: { VOTE: { code: 1, means: 'A vote.' } },
};

describe('readReplyCodes', () => {
  let folder;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'codes-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('rejects one number with two names in a group', () => {
    const codes = { locks: { GRANTED: { code: 1 }, LOST: { code: 1 } } };
    writeFileSync(join(folder, 'reply-codes.json'), JSON.stringify(codes));

    expect(() => readReplyCodes(folder)).toThrow('two codes of locks have the number 1');
  });
});

describe('withReplyNumbers', () => {
  it('replaces the names in code, not in strings', () => {
    expect(withReplyNumbers("return REPLY.LOST, 'REPLY.LOST', 0", CODES)).toBe("return 6, 'REPLY.LOST', 0");
  });

  it('rejects a name that is not defined', () => {
    expect(() => withReplyNumbers('return REPLY.GONE, 0, 0', CODES)).toThrow('REPLY.GONE');
  });
});

describe('replyCodesModule', () => {
  it('has a constant with its meaning for each code', () => {
    expect(replyCodesModule(CODES)).toContain('/** Lost. */\nexport const LOST = 6;\n');
  });
});

describe('checkReplyLines', () => {
  const header = (...lines) => `--[[\n  @returns [code, x, y]\n\n${lines.map((line) => `  ${line}\n`).join('')}]]\n`;
  const check = (source, body, other = '') => checkReplyLines(source, body, CODES, () => other);

  it('rejects a code without a line in the header', () => {
    expect(() => check(header('GRANTED, 0, 0  granted'), 'return REPLY.LOST, 0, 0')).toThrow('no line for LOST');
  });

  it('rejects a line for a code that the script does not use', () => {
    expect(() => check(header('LOST, 0, 0  lost'), 'return 1')).toThrow('a line for LOST, which it never uses');
  });

  it('accepts a code that the named script documents', () => {
    const source = header('the codes of lock.lua');

    expect(() => check(source, 'return REPLY.LOST, 0, 0', header('LOST, 0, 0  lost'))).not.toThrow();
  });
});

describe('checkLuaReplies', () => {
  it.each([
    ['local LOST = 6', 'LOST a second time'],
    ['REPLY.LOST = 6', 'LOST a second time'],
    ['return 6, 0, 0', 'the reply code 6'],
    ['return { 6, x, 0 }', 'the reply code 6'],
    ['return found and { 6, x, 0 } or x', 'the reply code 6'],
    ['return found and 4 or REPLY.LOST, f(1, 2), 0', 'the reply code 4'],
    ['return GONE, 0, 0', 'the reply code GONE'],
    ['local ok, code, x = true, 4, 0', 'the reply code 4'],
    ['if not ok then\n  code, x = 9, 0\nend', 'the reply code 9'],
  ])('rejects %j', (lua, message) => {
    expect(() => checkLuaReplies(lua, CODES)).toThrow(message);
  });

  it.each([
    'return REPLY.LOST, owner and 1 or 0, 0',
    "return append(queue, token) == 1 and REPLY.GRANTED or REPLY.LOST, left[1], '6'",
    'return nil, nil, owner',
    'return 0',
    'local code, x, y = run[command](KEYS[2], KEYS[3], token)',
    'if code == REPLY.LOST then return end',
  ])('accepts %j', (lua) => {
    expect(() => checkLuaReplies(lua, CODES)).not.toThrow();
  });
});

describe('checkTypeScriptReplies', () => {
  it.each([
    ['const LOST = 6;', 'LOST a second time'],
    ['export const LOST: number = 6;', 'LOST a second time'],
    ['const codes = { GRANTED, LOST: 6 };', 'LOST a second time'],
    ['enum Code {\n  LOST = 6,\n}', 'LOST a second time'],
    ['if (code === 6) end();', 'the reply code 6'],
    ['if (reply[0] !== 0) end();', 'the reply code 0'],
    ['if (code === GONE) end();', 'the reply code GONE'],
  ])('rejects %j', (source, message) => {
    expect(() => checkTypeScriptReplies(source, CODES)).toThrow(message);
  });

  it.each([
    'const LOST_KEYS = 6;',
    'const x = code === LOST ? 1 : 0;',
    'if (error.code === 7) end();',
    'const outcome = granted ? GRANTED : 1;',
  ])('accepts %j', (source) => {
    expect(() => checkTypeScriptReplies(source, CODES)).not.toThrow();
  });
});
