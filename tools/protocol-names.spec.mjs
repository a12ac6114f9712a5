import { checkGroups, faultOf } from './rules/protocol-names.mjs';

const CODES = new Map([
  ['GRANTED', 1],
  ['LOST', 6],
]);
const NUMBERS = new Map([
  ['CLAIM_WINDOW_MS', 1_750],
  ['MOST_WOKEN', 16],
]);
const check = (file, text) => faultOf(file, text, CODES, NUMBERS);

describe('A reply code', () => {
  it.each([
    ['const LOST = 6;', 'LOST a second time'],
    ['export const LOST: number = 6;', 'LOST a second time'],
    ['const codes = { GRANTED, LOST: 6 };', 'LOST a second time'],
    ['enum Code {\n  LOST = 6,\n}', 'LOST a second time'],
    ['if (code === 6) end();', 'the reply code 6'],
    ['if (reply[0] !== 0) end();', 'the reply code 0'],
    ['if (code === GONE) end();', 'the reply code GONE'],
  ])('has one definition, and a name: %j', (text, message) => {
    expect(check('store/redis/a.ts', text)).toContain(message);
  });

  it.each(['return [6, 0, 0];', 'return isOwn ? [LOST, 0, 0] : [6, text, 0];', 'f([\n  6,\n  0,\n  0,\n]);'])(
    'has a name in the reply of a rule: %j',
    (text) => expect(check('store/protocol/a.ts', text)).toContain('spells the reply code 6'),
  );

  it.each([
    'const LOST_KEYS = 6;',
    'const x = code === LOST ? 1 : 0;',
    'if (error.code === 7) end();',
    'const outcome = granted ? GRANTED : 1;',
    'return [LOST, 6, 0];',
    'f([6, 0]);',
  ])('may be used: %j', (text) => {
    expect(check('store/protocol/a.ts', text)).toBeUndefined();
  });

  it('has its own number in its group', () => {
    const group = (...lines) => `// Of a group.\n${lines.map((line) => `export const ${line};\n`).join('')}`;
    const good = group('A_A = 1', 'B_B = 2') + group('C_C = 1');
    expect(() => checkGroups(good)).not.toThrow();
    expect(() => checkGroups(`${good}export const D_D = 1;\n`)).toThrow('C_C and D_D have the number 1');
  });
});

describe('A number of the protocol', () => {
  it('has one definition', () => {
    expect(check('store/redis/a.ts', 'const CLAIM_WINDOW_MS = 2_000;\n')).toContain(
      'defines CLAIM_WINDOW_MS a second time',
    );
  });

  it.each([
    ["const claimMs = '2000';", 'gives claimMs a number'],
    ['const FENCE_MS = 600;', 'gives FENCE_MS a number'],
    ["redis.call('PEXPIRE', lock, 1_750);", 'use CLAIM_WINDOW_MS'],
    ["redis.call('PEXPIRE', lock, '1750');", 'use CLAIM_WINDOW_MS'],
  ])('has a name in a rule: %s', (text, message) => {
    expect(check('store/protocol/a.ts', text)).toContain(message);
  });

  it('may be used', () => {
    const text =
      "import { CLAIM_WINDOW_MS } from '../protocol.js';\nconst HALF_MS = CLAIM_WINDOW_MS / 2; // 1750\nf(1_000);\n";
    expect(check('store/protocol/a.ts', text)).toBeUndefined();
  });
});
