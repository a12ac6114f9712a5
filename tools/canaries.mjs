import { readFileSync } from 'node:fs';

const SRC = 'libs/distribute-lock/src';
const manifest = JSON.parse(readFileSync(new URL('../libs/distribute-lock/package.json', import.meta.url), 'utf8'));
const { '.': main, ...otherExports } = manifest.exports;
const brokenManifest = { ...manifest, exports: { '.': { ...main, types: './dist/nowhere.d.ts' }, ...otherExports } };

const lua = (body) => `--[[\n  @key  lock: string\n  @returns [held: number]\n]]\n${body}\n`;

/** What each gate must catch: `files` are written into a copy of the repository, `says` must stand in the output of `script`. */
export const canaries = [
  {
    gate: 'prettier',
    wrong: 'a badly formatted file',
    script: ['check:format'],
    files: { [`${SRC}/canary.ts`]: 'export const   canary="x"' },
    says: [`${SRC}/canary.ts`],
  },
  {
    gate: 'oxlint',
    wrong: 'a promise that nobody awaits (needs types), a cycle, a call of console',
    script: ['check:lint'],
    files: {
      [`${SRC}/canary.ts`]:
        "import { b } from './canary-b.js';\n\nexport const a = async (): Promise<void> => console.log(b);\na();\n",
      [`${SRC}/canary-b.ts`]: "import { a } from './canary.js';\n\nexport const b = () => a;\n",
    },
    says: ['no-floating-promises', 'no-cycle', 'no-console', `${SRC}/canary.ts`],
  },
  {
    gate: 'oxlint',
    wrong: 'a file of 201 lines and a function of 41',
    script: ['check:lint'],
    files: {
      [`${SRC}/canary.ts`]: `export function canary() {\n${'  canary();\n'.repeat(41)}}\n${'//\n'.repeat(158)}`,
    },
    says: ['max-lines)', 'max-lines-per-function', `${SRC}/canary.ts`],
  },
  {
    gate: 'tsc',
    wrong: 'a string that is a number',
    script: ['typecheck'],
    files: { [`${SRC}/canary.ts`]: 'export const canary: string = 1;\n' },
    says: [`${SRC}/canary.ts(1,14): error TS2322`],
  },
  {
    gate: 'lua',
    wrong: 'a key that the header does not declare',
    script: ['check:lua'],
    files: { [`${SRC}/scripts/lua/canary.lua`]: lua("return redis.call('EXISTS', KEYS[1], KEYS[2])") },
    says: ['canary.lua: uses KEYS[2], but its header declares 1 @key'],
  },
  {
    gate: 'lua',
    wrong: 'a part that does not exist',
    script: ['check:lua'],
    files: { [`${SRC}/scripts/lua/canary.lua`]: lua('--@include lib/canary.lua') },
    says: ['canary.lua: includes lib/canary.lua, which does not exist'],
  },
  {
    gate: 'lua',
    wrong: 'a script that was not compiled',
    script: ['check:lua'],
    files: { [`${SRC}/scripts/lua/canary.lua`]: lua('return 1') },
    says: ['is not what the scripts compile to'],
  },
  {
    gate: 'documents',
    wrong: 'a snippet that is not what its file says, and a link that leads nowhere',
    script: ['check:docs'],
    files: {
      'docs/canary.md': [
        '[there](nowhere.md) [here](../README.md#nowhere)',
        '<!-- cut from test/docs/readme/posts.controller.ts#post-test -->',
        '```ts',
        'canary();',
        '```',
        '',
      ].join('\n'),
    },
    says: ['docs/canary.md:1: nowhere.md', '#nowhere', 'docs/canary.md:3: is not what stands in'],
  },
  {
    gate: 'dependency-cruiser',
    wrong: 'a wrong import in the library itself',
    script: ['check:boundaries'],
    files: { [`${SRC}/store/canary.ts`]: "export { LockService } from '../service/lock.service.js';\n" },
    says: ['error not-in-allowed: libs/distribute-lock/src/store/canary.ts'],
  },
  {
    gate: 'knip',
    wrong: 'a file that nobody imports',
    script: ['check:unused'],
    files: { [`${SRC}/store/canary.ts`]: 'export const canary = 1;\n' },
    says: [`${SRC}/store/canary.ts`],
  },
  {
    gate: 'publint',
    wrong: 'a package.json that points nowhere',
    script: ['check:package'],
    files: { 'libs/distribute-lock/package.json': `${JSON.stringify(brokenManifest, undefined, 2)}\n` },
    says: ['nowhere.d.ts', 'does not exist'],
  },
  {
    gate: 'load dist',
    wrong: 'an entry that throws when it is imported',
    script: ['check:package'],
    files: { [`${SRC}/index.ts`]: "throw new Error('canary');\nexport {};\n" },
    says: ['Error: canary'],
  },
];
