import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compilerOf } from './rules-compiler.mjs';

const RULES = fileURLToPath(new URL('../libs/distribute-lock/src/store/protocol/', import.meta.url));

describe('The compiler of the rules', () => {
  let folder;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rules-'));
    for (const name of ['server.ts', 'settings.ts', 'reply.ts', 'host.ts', 'host.lua'])
      cpSync(join(RULES, name), join(folder, name));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (name, text) => writeFileSync(join(folder, name), text);
  /** The script without indentation. */
  const compile = () => compilerOf(folder)('runProbe').replaceAll(/^ +/gm, '');

  it('includes what a rule uses, and nothing else', () => {
    write(
      'used.ts',
      `export function used(key: string): number {\n  return redisOf(key) + 1;\n}\nfunction redisOf(key: string): number {\n  if (key === '') return 0;\n  return key.length;\n}\nexport function unused(): void {}\n`,
    );
    write(
      'probe.ts',
      `import { used } from './used.js';\nexport function runProbe(): number {\n  return used('a') + used('b');\n}\n`,
    );
    expect(compile()).toMatch(/redisOf[^]*used\("a"\) \+ used\("b"\)/);
    expect(compile()).not.toContain('unused');
  });

  it('declares a function inside the only one that leads to it', () => {
    write(
      'probe.ts',
      `function inner(key: string): number {\n  if (key === '') return 0;\n  return key.length;\n}\nfunction outer(key: string): number {\n  const length = inner(key) + inner('');\n  return length + 1;\n}\nexport function runProbe(): number {\n  return outer('a') + outer('b');\n}\n`,
    );
    expect(compile()).toMatch(/^local function outer\(key\)\nlocal function inner\(key\)/m);
  });

  it('declares a function before the first statement that uses it', () => {
    write(
      'probe.ts',
      `import { ARGV } from './server.js';\nfunction one(key: string): number {\n  if (key === '') return 0;\n  return two(key);\n}\nfunction two(key: string): number {\n  if (key === 'a') return 1;\n  return key.length;\n}\nexport function runProbe(): number {\n  if (ARGV.length === 1) return 0;\n  if (ARGV.length === 2) return two('b');\n  return one('b') + one('c');\n}\n`,
    );
    expect(compile()).toMatch(
      /^if #ARGV == 1 then\nreturn 0\nend\nlocal function two\([^]*\nend\nlocal function one\([^]*\nend\nreturn one\("b"\) \+ one\("c"\)\n$/m,
    );
  });

  it('declares no function in one that a loop uses', () => {
    write(
      'probe.ts',
      `import { ARGV } from './server.js';\nfunction inner(key: string): number {\n  if (key === '') return 0;\n  return key.length;\n}\nfunction outer(key: string): number {\n  return inner(key) + inner('');\n}\nexport function runProbe(): number {\n  let sum = 0;\n  for (const key of ARGV) sum += outer(key) * 2;\n  return sum;\n}\n`,
    );
    expect(compile()).toMatch(/^local function inner\(key\)[^]*^for/m);
  });

  it('refuses a variable that hides what a function inside uses', () => {
    write(
      'probe.ts',
      `let last = 0;\nfunction next(): number {\n  last += 1;\n  return last;\n}\nexport function runProbe(): number {\n  const last = next();\n  return last;\n}\n`,
    );
    expect(compile).toThrow('runProbe has a variable last, and the rules have another one: rename it');
  });

  it('converts no number that arithmetic converts', () => {
    write(
      'probe.ts',
      `import { toNumber } from './host.js';\nimport { ARGV } from './server.js';\nexport function runProbe(): number {\n  return 2 * toNumber(ARGV[0]) + Math.floor(toNumber(ARGV[1]));\n}\n`,
    );
    expect(compile()).toContain('return 2 * ARGV[1] + math.floor(ARGV[2])');
  });

  it('writes constants as their values, and short functions in place of their calls', () => {
    write(
      'probe.ts',
      `import { CLAIM_WINDOW_MS } from '../protocol.js';\nimport { processPart } from './host.js';\nconst HALF = -(2 ** 3);\nexport function runProbe(): string {\n  return processPart('x' + CLAIM_WINDOW_MS + HALF);\n}\n`,
    );
    expect(compile()).toContain('return string.sub((("x" .. tostring(1750)) .. tostring(-8)), 1, 22)');
  });

  it('writes constant numbers of a command as texts', () => {
    write(
      'probe.ts',
      `import { MOST_WOKEN } from '../protocol.js';\nimport { redis } from './server.js';\nexport function runProbe(): number {\n  return redis.call('ZRANGE', 'a', -1, MOST_WOKEN - 1).length + MOST_WOKEN;\n}\n`,
    );
    expect(compile()).toContain('redis.call("ZRANGE", "a", "-1", "15") + 16');
  });

  it('refuses two declarations of one name in a script', () => {
    write('one.ts', `export function same(): number {\n  return 1;\n}\n`);
    write('probe.ts', `import { two } from './two.js';\nexport function runProbe(): number {\n  return two();\n}\n`);
    write(
      'two.ts',
      `import { twice } from './three.js';\nexport function two(): number {\n  return twice() + same();\n}\nfunction same(): number {\n  return 2;\n}\n`,
    );
    write('three.ts', `import { same } from './one.js';\nexport function twice(): number {\n  return same();\n}\n`);
    expect(compile).toThrow(/Duplicate function implementation\..* at: same\(\)/);
  });

  it('refuses an import under another name', () => {
    write('one.ts', `export function one(): number {\n  return 1;\n}\n`);
    write(
      'probe.ts',
      `import { one as first } from './one.js';\nexport function runProbe(): number {\n  return first();\n}\n`,
    );
    expect(compile).toThrow("Cannot find name 'first'");
  });

  it('shows the line of an error', () => {
    write('probe.ts', `export function runProbe(): number {\n  return 'text';\n}\n`);
    expect(compile).toThrow(/not assignable to type 'number'.* at: return 'text';/);
  });

  it('refuses a rule that does not exist', () => {
    expect(compile).toThrow('no rule is named runProbe');
  });
});
