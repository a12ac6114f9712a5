import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkLuaNumbers,
  checkTypeScriptNumbers,
  readProtocolNumbers,
  withProtocolNumbers,
} from './protocol-numbers.mjs';

const NUMBERS = { CLAIM_WINDOW_MS: 1_750, OFFERED_NUMBERS: 16 };

describe('readProtocolNumbers', () => {
  let folder;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'numbers-'));
    mkdirSync(join(folder, 'lua'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('reads the exported numbers of the module beside the scripts', () => {
    const lines = ['/** A window. */', 'export const CLAIM_WINDOW_MS = 1_750;', 'const OTHER = 3;', ''];
    writeFileSync(join(folder, 'protocol.ts'), lines.join('\n'));

    expect(readProtocolNumbers(join(folder, 'lua'))).toEqual({ CLAIM_WINDOW_MS: 1_750 });
  });

  it('finds none without that module', () => {
    expect(readProtocolNumbers(join(folder, 'lua'))).toEqual({});
  });
});

describe('withProtocolNumbers', () => {
  it('replaces names in code and in strings, not in comments', () => {
    const lua = "local a, b = PROTOCOL.OFFERED_NUMBERS, 'PROTOCOL.CLAIM_WINDOW_MS' -- PROTOCOL.OFFERED_NUMBERS\n";
    expect(withProtocolNumbers(lua, NUMBERS)).toBe("local a, b = 16, '1750' -- PROTOCOL.OFFERED_NUMBERS\n");
  });

  it('rejects a name that is not defined', () => {
    expect(() => withProtocolNumbers('local a = PROTOCOL.GONE', NUMBERS)).toThrow('PROTOCOL.GONE');
  });
});

describe('checkLuaNumbers', () => {
  it.each([
    ["local claimMs = '2000'", 'gives claimMs a number'],
    ['local FENCE_MS = 600', 'gives FENCE_MS a number'],
    ["redis.call('PEXPIRE', lock, 1750)", 'use PROTOCOL.CLAIM_WINDOW_MS'],
    ["redis.call('PEXPIRE', lock, '1750')", 'use PROTOCOL.CLAIM_WINDOW_MS'],
  ])('rejects %s', (lua, message) => {
    expect(() => checkLuaNumbers(lua, NUMBERS)).toThrow(message);
  });

  it('accepts names, other numbers and comments', () => {
    const lua = "local claimMs = 'PROTOCOL.CLAIM_WINDOW_MS' -- 1750\nlocal fenceMs = nil\nlocal x = clock[1] * 1000\n";
    expect(() => checkLuaNumbers(lua, NUMBERS)).not.toThrow();
  });
});

describe('checkTypeScriptNumbers', () => {
  it('rejects a second definition', () => {
    const source = 'const CLAIM_WINDOW_MS = 2_000;\n';
    expect(() => checkTypeScriptNumbers(source, NUMBERS)).toThrow('defines CLAIM_WINDOW_MS a second time');
  });

  it('accepts uses', () => {
    const source = "import { CLAIM_WINDOW_MS } from './protocol.js';\nconst HALF_MS = CLAIM_WINDOW_MS / 2;\n";
    expect(() => checkTypeScriptNumbers(source, NUMBERS)).not.toThrow();
  });
});
