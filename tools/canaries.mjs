import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { MOST_CORE_BYTES, MOST_DOCUMENT_BYTES, MOST_OPTIONAL_BYTES } from './package/contents.mjs';

const SRC = 'libs/distribute-lock/src';
const manifest = JSON.parse(readFileSync(new URL('../libs/distribute-lock/package.json', import.meta.url), 'utf8'));
const index = readFileSync(new URL(`../${SRC}/index.ts`, import.meta.url), 'utf8');
const terminus = readFileSync(new URL(`../${SRC}/terminus/index.ts`, import.meta.url), 'utf8');

const lockOptions = readFileSync(new URL(`../${SRC}/options/generated/lock-options.ts`, import.meta.url), 'utf8');

/** The library with a change of its package.json, or with an additional line in its index. */
const withManifest = (change) => {
  const changed = { ...structuredClone(manifest), ...change };
  return { 'libs/distribute-lock/package.json': `${JSON.stringify(changed, undefined, 2)}\n` };
};
const withIndex = (line) => ({ [`${SRC}/index.ts`]: `${index}\n${line}\n` });

/** So many characters of base64; compression removes a quarter of them. */
const incompressible = (characters) => randomBytes((characters * 3) / 4).toString('base64');

/** In two parts, because the gate reads this file too. */
const OLD_STYLE = ['Who', 'ever waits mean', 'while is to', 'ld of it.'].join('');

const release = readFileSync(new URL('../.github/workflows/release.yml', import.meta.url), 'utf8');

const rule = (name) => `${SRC}/store/protocol/${name}.ts`;
const source = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');

/**
 * The faults that each gate must detect. `files` are written into a copy of the repository; the output of `script` must
 * contain `says`.
 */
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
    wrong:
      'a promise without an await (needs types), a cycle, a call of console, a file of 501 lines and a function of 41',
    script: ['check:lint'],
    files: {
      [`${SRC}/canary.ts`]:
        "import { b } from './canary-b.js';\n\nexport const a = async (): Promise<void> => console.log(b);\na();\n",
      [`${SRC}/canary-b.ts`]: "import { a } from './canary.js';\n\nexport const b = () => a;\n",
      [`${SRC}/canary-c.ts`]: `export function canary() {\n${'  canary();\n'.repeat(41)}}\n${'//\n'.repeat(458)}`,
    },
    says: [
      'no-floating-promises',
      'no-cycle',
      'no-console',
      `${SRC}/canary.ts`,
      'max-lines)',
      'max-lines-per-function',
      `${SRC}/canary-c.ts`,
    ],
  },
  {
    gate: 'prose',
    wrong: 'a comment, a title, a message, a Lua comment and a document in the old style',
    script: ['check:prose'],
    files: {
      [`${SRC}/canary.ts`]: `// ${OLD_STYLE}\nthrow new Error('The lock was lost: ' +\n  '${OLD_STYLE}');\n`,
      [`${SRC}/canary.spec.ts`]: `/*\n * ${'long '.repeat(31)}\n */\nit.each([1])('${OLD_STYLE}', () => {});\n`,
      [`${SRC}/store/protocol/canary.lua`]: `--[[\n  ${OLD_STYLE}\n]]\n`,
      'docs/canary.md': `# Canary\n\n| cell | ${OLD_STYLE} |\n`,
    },
    says: [
      'docs/canary.md:3: person: "Whoever"',
      `${SRC}/canary.ts:1: person: "Whoever"`,
      `${SRC}/canary.ts:2: time: "meanwhile"`,
      `${SRC}/canary.spec.ts:2: length: 31 words`,
      `${SRC}/canary.spec.ts:4: metaphor: "is `,
      `${SRC}/store/protocol/canary.lua:2: person: "Whoever"`,
      OLD_STYLE,
    ],
  },
  {
    gate: 'tsc',
    wrong: 'a string that is a number, and a lock option that is missing from the table of options',
    script: ['typecheck'],
    files: {
      [`${SRC}/canary.ts`]: 'export const canary: string = 1;\n',
      [`${SRC}/options/generated/lock-options.ts`]: lockOptions.replace(
        'LockOptions {',
        'LockOptions {\n  readonly canary?: true;',
      ),
    },
    says: [`${SRC}/canary.ts(1,14): error TS2322`, `${SRC}/options/lock-options.ts`, "Property 'canary' is missing"],
  },
  {
    gate: 'documents',
    wrong: 'an interface of lock options that differs from their table',
    script: ['check:docs'],
    files: { [`${SRC}/options/generated/lock-options.ts`]: lockOptions.replace('How long', 'For how long') },
    says: ['options/generated/lock-options.ts differs from the table of lock options'],
  },
  {
    gate: 'lua',
    wrong: 'a rule that was not compiled',
    script: ['check:lua'],
    files: { [rule('wait')]: source(rule('wait')).replace('if (!waits)', 'if (waits)') },
    says: ['lua-scripts.ts differs from the compiled rules'],
  },
  {
    gate: 'lua',
    wrong: 'a rule that uses a function that no rule declares',
    script: ['check:lua'],
    files: { [rule('wait')]: source(rule('wait')).replaceAll('append', 'absent') },
    says: ["Cannot find name 'absent'"],
  },
  {
    gate: 'lua',
    wrong: 'a rule whose types do not fit',
    script: ['check:lua'],
    files: { [rule('mark-counter')]: source(rule('mark-counter')).replace('return 1', "return '1'") },
    says: ["Type 'string' is not assignable to type 'number'"],
  },
  {
    gate: 'lua',
    wrong: 'a reply code in a rule that is spelled as a number',
    script: ['check:lua'],
    files: { [rule('canary')]: 'export const canary = (): number[] => [6, 0, 0];\n' },
    says: ['store/protocol/canary.ts: spells the reply code 6'],
  },
  {
    gate: 'lua',
    wrong: 'a second definition of a reply code in TypeScript',
    script: ['check:lua'],
    files: { [`${SRC}/store/redis/canary.ts`]: 'export const LOST = 6;\n' },
    says: ['store/redis/canary.ts: defines the reply code LOST a second time'],
  },
  {
    gate: 'lua',
    wrong: 'a reply code in TypeScript under another name',
    script: ['check:lua'],
    files: {
      [`${SRC}/store/redis/canary.ts`]:
        'const GONE = 6;\nexport const canary = (code: number): boolean => code === GONE;\n',
    },
    says: ['store/redis/canary.ts: spells the reply code GONE'],
  },
  {
    gate: 'lua',
    wrong: 'a number of the protocol in a rule that is spelled',
    script: ['check:lua'],
    files: { [rule('canary')]: "export const claimMs = '1750';\n" },
    says: ['store/protocol/canary.ts: gives claimMs a number'],
  },
  {
    gate: 'lua',
    wrong: 'a second definition of a protocol number in TypeScript',
    script: ['check:lua'],
    files: { [`${SRC}/store/redis/canary.ts`]: 'export const CLAIM_WINDOW_MS = 1_750;\n' },
    says: ['store/redis/canary.ts: defines CLAIM_WINDOW_MS a second time'],
  },
  {
    gate: 'races',
    wrong: 'a test that needs its real time within 50 ms, or a lease that a busy machine loses',
    script: ['check:races'],
    files: {
      'test/nest/race-canary.spec.ts': `
        it('is fast', async () => {
          const startedAt = performance.now();
          const lease = await locks.acquire('a', { ttl: 300 });
          await sleep(50);
          expect(lease.isHeld()).toBe(true);
          expect(performance.now() - startedAt).toBeLessThan(100);
        });`,
    },
    says: [
      'race-canary.spec.ts:4: renews a lease of at most 1 s',
      'race-canary.spec.ts:5: expects something after a pause',
      'race-canary.spec.ts:7: compares a duration with a bound',
    ],
  },
  {
    gate: 'names',
    wrong: 'two exports with one name, one type with two names, a word that the glossary replaces',
    script: ['check:names'],
    files: {
      [`${SRC}/store/canary.ts`]:
        'export interface LockState {\n  readonly askedAt: number;\n}\n\nexport type Canary = LockState;\n',
      'test/support/canary.ts': 'export const toldAt = 1;\n',
    },
    says: [
      'test/support/canary.ts:1: "toldAt" contains "told"',
      'exports "LockState", as does',
      `${SRC}/store/canary.ts:2: "askedAt" contains "asked"`,
      '"Canary" is a second name of "LockState"',
    ],
  },
  {
    gate: 'documents',
    wrong: 'a snippet that differs from its file, a link to a missing file, and a figure without its command',
    script: ['check:docs'],
    files: {
      'docs/decisions/canary.md': '# Canary\n\n## Options\n\nA canary takes 3 µs.\n',
      'docs/canary.md': [
        '[there](nowhere.md) [here](../README.md#nowhere)',
        '<!-- cut from test/docs/readme/posts.controller.ts#post-test -->',
        '```ts',
        'canary();',
        '```',
        '',
      ].join('\n'),
    },
    says: [
      ...['docs/canary.md:1: nowhere.md', '#nowhere', 'docs/canary.md:3: differs from'],
      'docs/decisions/canary.md:3: "3 µs" in this section has no command',
    ],
  },
  {
    gate: 'documents',
    wrong: 'a page of the guide that takes five screens',
    script: ['check:docs'],
    files: { 'docs/guide/canary.md': `# Canary\n\n${'A sentence.\n\n'.repeat(150)}` },
    says: ['docs/guide/canary.md: takes 301 lines on a screen', 'at most 240'],
  },
  {
    gate: 'documents',
    wrong: 'an llms.txt that lacks a page and names a missing one',
    script: ['check:docs'],
    files: { 'llms.txt': '# nestjs-distribute-lock\n\n- [Nowhere](docs/guide/nowhere.md): A page.\n' },
    says: ['llms.txt: differs from the documents', 'llms.txt:3: docs/guide/nowhere.md leads nowhere'],
  },
  {
    gate: 'sizes',
    wrong: 'an entry above its budget, and documents above theirs',
    script: ['check:sizes'],
    files: {
      [`${SRC}/terminus/index.ts`]: `${terminus}\nexport const canary: string = '${randomBytes(9_000).toString('base64')}';\n`,
      'docs/guide/canary.md': `# Canary\n\nA page.\n\n${randomBytes(67_500).toString('base64')}\n`,
    },
    says: ['the entry terminus has', 'but its budget is', 'the documents have', 'llms.txt and llms-full.txt have'],
  },
  {
    gate: 'measures',
    wrong: 'a measure whose code is gone',
    script: ['check:measures'],
    files: {
      'test/fault/measures/fencing.mjs':
        "export const measuresOfFencing = [{ promise: 'P11', what: 'canary', file: 'index.ts', measure: 'no such words', without: '' }];\n",
    },
    says: ['"no such words" does not occur exactly once in index.ts'],
  },
  {
    gate: 'dependency-cruiser',
    wrong: 'a wrong import in the library itself',
    script: ['check:boundaries'],
    files: { [`${SRC}/store/canary.ts`]: "export { LockService } from '../nest/lock.service.js';\n" },
    says: ['error not-in-allowed: libs/distribute-lock/src/store/canary.ts'],
  },
  {
    gate: 'dependency-cruiser',
    wrong: 'an import of Nest in the locks of programs without Nest',
    script: ['check:boundaries'],
    files: { [`${SRC}/locks/canary.ts`]: "export { Injectable } from '@nestjs/common';\n" },
    says: ['error not-in-allowed: libs/distribute-lock/src/locks/canary.ts'],
  },
  {
    gate: 'knip',
    wrong: 'a file without an import',
    script: ['check:unused'],
    files: { [`${SRC}/store/canary.ts`]: 'export const canary = 1;\n' },
    says: [`${SRC}/store/canary.ts`],
  },
  {
    gate: 'publint, are the types wrong, contents of the tarball',
    wrong:
      'a path to a missing file, types of the ESM build for CommonJS, a file that users do not need, and one dependency too many',
    script: ['check:package', 'publint', 'types', 'contents'],
    files: withManifest({
      exports: {
        ...manifest.exports,
        '.': {
          ...manifest.exports['.'],
          import: { types: './dist/nowhere.d.ts', default: './dist/esm/index.js' },
          require: { types: './dist/esm/index.d.ts', default: './dist/cjs/index.js' },
        },
      },
      files: ['dist'],
      dependencies: { ...manifest.dependencies, rollup: '*' },
    }),
    says: [
      'FAILED  publint',
      'nowhere.d.ts',
      'does not exist',
      'FAILED  types',
      'FalseESM',
      'FAILED  contents',
      'dist/.tsc/index.js does not belong to the package',
      'depends on ms, rollup: one at most',
    ],
  },
  {
    gate: 'API report, links and sizes of the tarball, package distribute-lock',
    wrong:
      'an export that no report contains, of a type that cannot be imported; links to a file and to a heading that the tarball ' +
      'lacks, and a type that names such a document; too many bytes of core, optional entries and documents; a program with ' +
      'another version than the library, and a dependency on a range of versions',
    script: ['check:package', 'api', 'links', 'size', 'cli'],
    files: {
      ...withIndex(
        [
          'interface Canary { a: number }',
          '/** See docs/nowhere.md. */',
          'export const canary = (): Canary => ({ a: 1 });',
          `export const large: string = '${incompressible(200_000)}';`,
        ].join('\n'),
      ),
      [`${SRC}/terminus/index.ts`]: `${terminus}\nexport const canary: string = '${incompressible(60_000)}';\n`,
      'docs/guide/canary.md':
        '# Canary\n\n[there] [keys](keys.md#nowhere)\n\n[there]: ../internals/protocol.md\n\n' +
        `A page.\n\n${incompressible(90_000)}\n`,
      'libs/cli/package.json': JSON.stringify({
        ...JSON.parse(readFileSync('libs/cli/package.json', 'utf8')),
        version: '0.9.0',
        dependencies: { ioredis: '*', [manifest.name]: '*' },
      }),
    },
    says: [
      'FAILED  api',
      'etc/index.api.md',
      'ae-forgotten-export: The symbol "Canary"',
      'FAILED  links',
      'docs/guide/canary.md:3: keys.md#nowhere leads to no heading',
      'docs/guide/canary.md:5: ../internals/protocol.md leads nowhere',
      'names docs/nowhere.md, which is missing',
      'FAILED  size',
      `must have less than ${MOST_CORE_BYTES}`,
      `must have less than ${MOST_OPTIONAL_BYTES}`,
      `must have less than ${MOST_DOCUMENT_BYTES}`,
      'FAILED  cli',
      'has version 0.9.0',
      'depends on {"ioredis":"*"',
    ],
  },
  {
    gate: 'import and require',
    wrong: 'an entry that throws when it is loaded',
    script: ['check:package', 'modules'],
    files: withIndex("throw new Error('canary');"),
    says: ['FAILED  modules', 'Error: canary'],
  },
  {
    gate: 'load time',
    wrong: 'an entry that works for 60 ms when it is loaded',
    script: ['check:package', 'load'],
    files: withIndex('const end = performance.now() + 60;\nwhile (performance.now() < end);'),
    says: ['FAILED  load', 'must take less than 0.083 times'],
  },
  {
    gate: 'workflows',
    wrong: 'a step without a command, and an expression of an unknown context',
    script: ['check:workflows'],
    files: {
      '.github/workflows/canary.yml':
        'on: push\njobs:\n  canary:\n    runs-on: ubuntu-latest\n    steps:\n      - name: ${{ nowhere.name }}\n',
    },
    says: ['.github/workflows/canary.yml:6', 'undefined variable "nowhere"'],
  },
  {
    gate: 'workflows',
    wrong: 'a line of the release that calls a registry without its mark',
    script: ['check:workflows'],
    files: { '.github/workflows/release.yml': release.replace(/ # outside: npm/, '') },
    says: ['.github/workflows/release.yml:', 'needs the mark "# outside: npm"'],
  },
  {
    gate: 'npm audit',
    wrong: 'a registry that does not respond',
    script: ['check:package', 'audit'],
    files: { '.npmrc': 'registry=http://127.0.0.1:9/\nfetch-retries=0\n' },
    says: ['FAILED  audit', 'npm audit returned no result'],
  },
];
