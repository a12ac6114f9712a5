import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileRules, SETTINGS } from './rules-compiler.mjs';

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
  const compile = (entry = 'runProbe') => compileRules(entry, SETTINGS.onePrimary, folder);

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
      `function inner(key: string): number {\n  if (key === '') return 0;\n  return key.length;\n}\nfunction outer(key: string): number {\n  const length = inner(key);\n  return length + 1;\n}\nexport function runProbe(): number {\n  return outer('a');\n}\n`,
    );
    expect(compile()).toMatch(/^local function outer\(key\)\n {4}local function inner\(key\)/m);
  });

  it('writes constants as their values, and short functions in place of their calls', () => {
    write(
      'probe.ts',
      `import { CLAIM_WINDOW_MS } from '../protocol.js';\nimport { processPart } from './host.js';\nconst HALF = -(2 ** 3);\nexport function runProbe(): string {\n  return processPart('x' + CLAIM_WINDOW_MS + HALF);\n}\n`,
    );
    expect(compile()).toContain('return string.sub((("x" .. 1750) .. tostring(-8)), 1, 22)');
  });

  it('refuses two declarations of one name in a script', () => {
    write('one.ts', `export function same(): number {\n  return 1;\n}\n`);
    write(
      'probe.ts',
      `import { same as other } from './one.js';\nimport { two } from './two.js';\nexport function runProbe(): number {\n  return two();\n}\n`,
    );
    write(
      'two.ts',
      `import { twice } from './three.js';\nexport function two(): number {\n  return twice() + same();\n}\nfunction same(): number {\n  return 2;\n}\n`,
    );
    write('three.ts', `import { same } from './one.js';\nexport function twice(): number {\n  return same();\n}\n`);
    expect(compile).toThrow('same is in one.ts and in two.ts: rename one');
  });

  it('shows the line of an error', () => {
    write('probe.ts', `export function runProbe(): number {\n  return 'text';\n}\n`);
    expect(compile).toThrow(/not assignable to type 'number'.* at: return 'text';/);
  });

  it('refuses a rule that does not exist', () => {
    expect(compile).toThrow('no rule is named runProbe');
  });
});
