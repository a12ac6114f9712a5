import { proseFaults } from './prose/faults.mjs';

/** In two parts, because the linter reads this file too. */
const person = ['some', 'body'].join('');
const words = (count) => 'word '.repeat(count).trim();
const found = (source, name = 'a.ts') =>
  proseFaults(name, source).map(({ line, rule }) => `${line}: ${rule.split(' (')[0]}`);

describe('proseFaults', () => {
  it.each([
    ['a block comment', `\n/** The lock.\n * Held by ${person}. */`, 3],
    ['a line comment', `const a = '//';\n// Held by ${person}.`, 2],
    ['a comment after code', `const a = /'/; // Held by ${person}.`, 1],
    ['a test title', `describe.each([1])('held by ${person}', f);`, 1],
    ['a title in a template', `it.concurrent(\`held by \${1} or ${person}\`, f);`, 1],
    ['a message', `throw new Error('The lock is held by ${person}.');`, 1],
    ['a message in two parts', `log('The lock is held ' +\n  'by ${person}.');`, 1],
    ['a message within a template', `log(\`\${a ? 'The lock is held by ${person}' : ''}\`);`, 1],
  ])('finds a phrase in %s', (_, source, line) => {
    expect(found(source)).toEqual([`${line}: person: "${person}"`]);
  });

  it.each([
    ['a phrase in code', `/** Calls \`${person}()\` and {@link ${person}}. */`],
    ['an example', `/**\n * Locks.\n * @example\n * lock('${person}');\n */`],
    ['a short string', `lock('${person}');`],
    ['a directive', `// oxlint-disable-next-line ${person}`],
    ['a name', `const ${person} = 1;`],
  ])('accepts %s', (_, source) => {
    expect(found(source)).toEqual([]);
  });

  it('reads the comments of Lua, and no strings', () => {
    const source = `--[[\n  Held by ${person}.\n]]\nlocal a = '-- ${person}'\n-- Held\n-- by ${person}.`;
    expect(found(source, 'a.lua')).toEqual([`2: person: "${person}"`, `5: person: "${person}"`]);
  });

  it('reads the prose of a document, and none of its code', () => {
    const source = [
      '---',
      `who: ${person}`,
      '---',
      `# Held by ${person}`,
      '',
      `| \`${person}\` | held by ${person} |`,
      '',
      `<!-- ${person} -->`,
      `[Held](${person}.md) by`,
      `${person}.`,
      '',
      '```ts',
      `lock('${person}');`,
      '```',
    ].join('\n');
    expect(found(source, 'a.md')).toEqual([4, 6, 9].map((line) => `${line}: person: "${person}"`));
  });

  it('starts a sentence with each cell, item and paragraph of a document', () => {
    const text = `${words(20)}\n\n${words(20)}\n- ${words(20)}\n- ${words(20)}\n\n| ${words(20)} | ${words(20)} |\n`;
    expect(found(text, 'a.md')).toEqual([]);
    expect(found(`${words(20)}\n${words(11)}\n`, 'a.md')).toEqual(['1: length: 31 words']);
  });

  it('accepts sentences of 30 words', () => {
    expect(found(`// ${words(30)}. ${words(29)}: ${words(30)}; ${words(30)}.`)).toEqual([]);
    expect(found(`// ${words(30)}\n// word.`)).toEqual(['1: length: 31 words']);
  });

  it('starts a sentence with each tag, list item and row', () => {
    expect(found(`/**\n * ${words(20)}\n * @returns ${words(20)}\n * - ${words(20)}\n */`)).toEqual([]);
  });
});
