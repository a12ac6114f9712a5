import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compilerFaults } from './documents/compiled.mjs';
import { documentFaults } from './documents/faults.mjs';
import { anchorsOf, fencesOf, linksOf } from './documents/markdown.mjs';
import { withTables } from './documents/tables.mjs';
import { filled } from './documents/snippets.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CONFIG = join(ROOT, 'tsconfig.json');

describe('the documents of this repository', () => {
  it('contain the code of their source files, and valid links', () => {
    expect(documentFaults(ROOT)).toEqual([]);
  });

  it('contain code that compiles', () => {
    expect(compilerFaults(ROOT)).toEqual([]);
  });
});

describe('a document', () => {
  let root;
  const write = (name, text) => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  };
  const snippet = (from, code) => `<!-- cut from ${from} -->\n\n\`\`\`ts\n${code}\`\`\`\n`;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'documents-'));
    write(
      'a.ts',
      'class A {\n  // #region one\n  b = 1;\n\n  // #region two\n  c = 2;\n  // #endregion\n  // #endregion\n}\n',
    );
  });

  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('may contain a whole file, a region without its markers, or the inner one', () => {
    write('README.md', snippet('a.ts#one', 'b = 1;\n\nc = 2;\n') + snippet('a.ts#two', 'c = 2;\n'));
    write('docs/deep/a.md', snippet('a.ts', 'class A {\n  b = 1;\n\n  c = 2;\n}\n'));
    expect(documentFaults(root)).toEqual([]);
  });

  it.each([
    [
      'differs from its file',
      snippet('a.ts#two', 'c = 3;\n'),
      'README.md:3: differs from a.ts#two: run `npm run docs`',
    ],
    ['lost its last line', snippet('a.ts#one', 'b = 1;\n'), 'differs from a.ts#one'],
    ['has no source file', '```ts\nc = 2;\n```\n', 'README.md:1: code without a line'],
    ['has no source file, in JavaScript', '- a\n\n  ```js\n  c = 2;\n  ```\n', 'README.md:3: code without a line'],
    ['comes from a missing file', snippet('b.ts', 'c = 2;\n'), 'b.ts does not exist'],
    ['comes from a missing region', snippet('a.ts#three', 'c = 2;\n'), 'a.ts has no "// #region three"'],
    [
      'has a line between it and its source',
      `${snippet('a.ts#two', '').slice(0, 30)}\nText.\n\`\`\`ts\nc = 2;\n\`\`\`\n`,
      'code without',
    ],
  ])('is rejected when its code %s', (_what, text, fault) => {
    write('README.md', text);
    expect(documentFaults(root)).toEqual([expect.stringContaining(fault)]);
  });

  const bench = 'npm run bench';
  it.each([
    ['without a command', 'docs/decisions/a.md', '## Options\n\n3 µs\n', '"3 µs"'],
    ['with the command of another section', 'docs/internals/a.md', `\`${bench}\`\n\n## A\n\n12 ms\n`, '"12 ms"'],
    ['with a link to a section without one', 'docs/decisions/a.md', '## A\n\n7 %, [b](#b)\n\n## B\n', '"7 %"'],
    ['in a decision', 'docs/decisions/a.md', '## Decision\n\n5,000 instructions after 25 ms\n', '"5,000 instructions"'],
    ['in a table of the benchmarks', 'docs/benchmarks.md', '## A\n\n| a |\n| 7 |\n', '| 7'],
    ['in the guide', 'docs/guide/a.md', '165 bytes\n', '"165 bytes"'],
  ])('is rejected with a figure %s', (_what, name, text, fault) => {
    write(name, text);
    expect(documentFaults(root)).toEqual([expect.stringContaining(fault)]);
  });

  it.each([
    ['a command', 'docs/decisions/a.md', `## Options\n\n3 µs (\`${bench}\`)\n`],
    ['a link to a section with a command', 'docs/decisions/a.md', '## A\n\n3 µs, [b](../b.md#b)\n'],
    ['a link to a page with a command', 'README.md', '3 µs, [b](docs/b.md)\n'],
    ['the words that no command repeats it', 'docs/decisions/a.md', '3 µs; no command repeats it.\n'],
    ['a constant', 'docs/decisions/a.md', '# After 25 ms\n\n## Decision\n\n25 ms and `3 µs`\n'],
    ['a constant', 'docs/internals/protocol.md', '## A\n\n25 ms\n'],
  ])('may contain a figure with %s', (_what, name, text) => {
    write('docs/b.md', `## B\n\n\`\`\`bash\n${bench}\n\`\`\`\n`);
    write(name, text);
    expect(documentFaults(root)).toEqual([]);
  });

  it('is rejected when a region does not end', () => {
    write('a.ts', '// #region one\n// #region two\n// #endregion\n');
    write('README.md', snippet('a.ts#one', ''));
    expect(documentFaults(root)).toEqual([expect.stringContaining('a.ts does not end its "// #region one"')]);
  });

  it('is filled in from its source files', () => {
    const text = `# A\n\n- item\n\n${snippet('a.ts#one', 'old\n').replace(/^(?=.)/gm, '  ')}\n${snippet('a.ts#two', '')}`;
    write('README.md', filled(root, text));
    expect(documentFaults(root)).toEqual([]);
    expect(filled(root, text)).toContain('  b = 1;\n\n  c = 2;\n');
  });

  it.each([
    ['[a](docs/b.md)', 'README.md:3: docs/b.md leads nowhere'],
    ['[a](docs/a.md#no-such-heading)', 'docs/a.md#no-such-heading leads to no heading'],
    ['[a](#b)', '#b leads to no heading'],
    ['[a]: docs/b.md', 'docs/b.md leads nowhere'],
    ['[`code`](docs/b.md "title")', 'docs/b.md leads nowhere'],
    ['[![badge](b.svg)](docs/a.md)', 'b.svg leads nowhere'],
    ['[a](../x.md)', 'leaves the repository'],
    ['[a](/docs/a.md)', 'a different place for each reader'],
    ['<a href="docs/b.md">a</a>', 'docs/b.md leads nowhere'],
  ])('is rejected with the link %s', (link, fault) => {
    write('docs/a.md', '# A\n');
    write('README.md', `# Top\n\n${link}\n`);
    expect(documentFaults(root)).toEqual([expect.stringContaining(fault)]);
  });

  it('is rejected when it names a missing source file', () => {
    write('libs/distribute-lock/src/store/link.ts', '');
    write(
      'README.md',
      '`a.ts` `store/link.ts` `libs/distribute-lock/src/store/link.ts` `npm run x`\n`store/other.ts`\n',
    );
    expect(documentFaults(root)).toEqual(['README.md:2: store/other.ts does not exist']);
  });

  it('may link to files, folders, headings and other sites', () => {
    write('docs/a.md', '# `A`: what it *is*, [really](../README.md)\n\n## A\n\n## A\n');
    write(
      'README.md',
      '# Top\n\n[a](docs/a.md#a-what-it-is-really) [b](docs/a.md#a-1) [c](docs) [d](#top) [e](https://x.test/y.md) ' +
        '`[f](nowhere.md)`\n\n```text\n[g](nowhere.md)\n# not a heading\n```\n',
    );
    expect(documentFaults(root)).toEqual([]);
  });

  it('is rejected when its code does not compile', () => {
    write('a.ts', 'export const a: string = 1;\n');
    write('README.md', snippet('a.ts', 'export const a: string = 1;\n'));
    expect(documentFaults(root)).toEqual([]);
    expect(compilerFaults(root, CONFIG)).toEqual([expect.stringContaining("a.ts:1: Type 'number' is not assignable")]);
  });
});

describe('the reader of Markdown', () => {
  it('finds fences of any length and mark, also in lists', () => {
    const text = '````md\n```ts\nx\n```\n````\n\n- a\n\n  ~~~js title="b"\n  y\n  ~~~\n';
    const fences = fencesOf(text).map(({ language, code }) => [language, code]);
    expect(fences).toEqual([
      ['md', '```ts\nx\n```\n'],
      ['js', '  y\n'],
    ]);
  });

  it('finds links with their lines, and none in code', () => {
    expect(linksOf('a\n[b](c) `[d](e)` [f [g]](<h i>)\n')).toEqual([{ target: 'c', line: 2 }]);
    expect(linksOf('x `a\nb` [c](d)')).toEqual([{ target: 'd', line: 2 }]);
  });

  it('creates anchors like GitHub', () => {
    const text = '# What is *it*?\n## `@Lock`: a_b c-d\n### Ä & ö\n## What is it\n<a id="own"></a>\n';
    expect([...anchorsOf(text)]).toEqual(['own', 'what-is-it', 'lock-a_b-c-d', 'ä--ö', 'what-is-it-1']);
  });
});

describe('a table from code', () => {
  let root;
  const SOURCE = `export interface Options {
  /**
   * How long | how {@link Long}, over
   * two lines.
   * @defaultValue \`'30s'\`
   */
  readonly ttl?: Duration<'a hint'>;
  /** Must be there. */
  readonly key: string | Function;
  /** No default. */
  readonly name?: string;
}
`;
  const LINE = '<!-- options of Options in a.ts -->\n';
  const ROWS = [
    '| option | values | default | what it does |',
    '| --- | --- | --- | --- |',
    "| `ttl` | duration | `'30s'` | How long \\| how `Long`, over two lines. |",
    '| `key` | `string \\| Function` | required | Must be there. |',
    '| `name` | `string` | none | No default. |',
    '',
  ].join('\n');

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'documents-'));
    writeFileSync(join(root, 'a.ts'), SOURCE);
  });

  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('is written from the TSDoc, with the same result each time', () => {
    const once = withTables(root, `# A\n\n${LINE}\n## B\n`);
    expect(once).toBe(`# A\n\n${LINE}\n${ROWS}\n## B\n`);
    expect(withTables(root, once)).toBe(once);
  });

  it('is rejected when it lacks an option, or has another default', () => {
    const table = `${LINE}\n${ROWS}`;
    const faultsOf = (text) => {
      writeFileSync(join(root, 'README.md'), text);
      return documentFaults(root);
    };
    expect(faultsOf(table)).toEqual([]);
    const fault = 'README.md: its tables differ from the code: run `npm run docs`';
    expect(faultsOf(table.replace(/\| `name`.*\n/, ''))).toEqual([fault]);
    expect(faultsOf(table.replace('30s', '10s'))).toEqual([fault]);
    expect(() => faultsOf(LINE.replace('Options', 'Others'))).toThrow('a.ts has no interface or class Others');
  });

  it('shows the members of an interface, and the values of a type', () => {
    const source = [
      'export interface Lease {',
      '  /** The key. */',
      '  readonly key?: string;',
      '  /** Ends | it. */',
      '  release(ttl?: string, again: boolean): Promise<void>;',
      '}',
      '/**',
      " * Why.\n *\n * - `'a'`, `'b'`: the first,\n *   on two lines\n * - `'c'`: the last\n */",
      "export type Reason = 'a' | 'b' | 'c';",
    ].join('\n');
    writeFileSync(join(root, 'a.ts'), source);
    const text = '<!-- members of Lease in a.ts -->\n\n<!-- values of Reason in a.ts -->\n';
    const rows = withTables(root, text)
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    expect(rows).toEqual([
      '| `key?` | `string` | The key. |',
      '| `release(ttl?, again)` | `Promise<void>` | Ends \\| it. |',
      "| `'a'`, `'b'` | The first, on two lines |",
      "| `'c'` | The last |",
    ]);
  });

  it('has a row for each measure', () => {
    const lines = withTables(root, '<!-- measures -->\n').split('\n');
    expect(lines.find((line) => line.startsWith('| P1 |'))).toMatch(
      /^\| P1 \| [a-z][^|]+ \| `[\w/.-]+` \| `[\w/.-]+`: `[^`]+` \|$/,
    );
  });
});
