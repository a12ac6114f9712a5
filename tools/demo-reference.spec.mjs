import { readdirSync, readFileSync } from 'node:fs';

const APP = new URL('../apps/demo/src/', import.meta.url);

describe('docs/reference/demo.md', () => {
  it('lists the environment variables of the demo, and no others', () => {
    const sources = readdirSync(APP, { recursive: true })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
      .map((name) => readFileSync(new URL(name, APP), 'utf8'))
      .join('\n');
    const read = sources.matchAll(/\benv\.([A-Z_]+)\b|name: '([A-Z][A-Z_]+)'/g);
    const text = readFileSync(new URL('../docs/reference/demo.md', import.meta.url), 'utf8');
    const listed = Array.from(text.matchAll(/^\| `([A-Z_]+)` \|/gm), ([, name]) => name);
    expect(listed.length).toBeGreaterThan(5);
    expect(new Set(listed)).toEqual(new Set(Array.from(read, ([, one, other]) => one ?? other)));
  });
});
