import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LOCK_ERROR_CODES } from '../libs/distribute-lock/src/errors.js';
import { exportsOf } from './documents/exports.mjs';
import { statusOf } from '../libs/distribute-lock/src/nest/aspect/transport-errors.js';

const CONTENDED_STATUS = 409;
const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/** Cells of the first table that starts with these titles. */
function rowsUnder(name, ...titles) {
  const text = read(name);
  const at = text.indexOf(`| ${titles.join(' | ')} |`);
  if (at < 0) throw new Error(`${name} has no table ${titles.join(', ')}`);
  const [table] = text.slice(at).split(/\n(?!\|)/);
  const rows = table.split('\n').slice(2);
  return rows.map((row) =>
    row
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

/** Names in code spans. */
const namesIn = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name);

describe.each([
  ['README.md', ['code', 'HTTP']],
  ['docs/reference/errors.md', ['code', 'class', 'HTTP']],
])('the errors of %s', (name, titles) => {
  const rows = rowsUnder(name, ...titles);

  it('are complete, with advice', () => {
    expect(new Set(rows.flatMap(([codes]) => namesIn(codes)))).toEqual(new Set(LOCK_ERROR_CODES));
    for (const cells of rows) expect(cells.at(-1)).not.toBe('');
  });

  it.each(rows.map((cells) => [cells[0], cells[titles.indexOf('HTTP')]]))('have their status: %s', (codes, shown) => {
    for (const code of namesIn(codes)) {
      const statuses = ['request', 'code'].flatMap((source) =>
        [true, false].map((clientLeft) => statusOf({ code, source }, CONTENDED_STATUS, clientLeft)),
      );
      expect(shown).toBe([...new Set(statuses)].join(' or '));
    }
  });
});

describe('the options of the README', () => {
  const reference = ['LockOptions', 'DistributeLockOptions', 'LocksOptions', 'LockModuleOptions'].flatMap(referenceOf);
  const rows = rowsUnder('README.md', 'option', 'default', 'meaning').concat(moduleRows());

  function referenceOf(name) {
    const text = read('docs/reference/options.md');
    const table = text.slice(text.indexOf(`<!-- options of ${name} in`)).split(/\n(?=#)/)[0];
    return [...table.matchAll(/^\| `(\w+)` \| (?:\\\||[^|])+ \| ((?:\\\||[^|])+) \|/gm)].map((row) => row.slice(1, 3));
  }

  function moduleRows() {
    const [, after] = read('README.md').split('## `LockModule`');
    return [...after.split('\n## ')[0].matchAll(/^\| (`\w+`) \| ([^|]*) \|/gm)].map((row) => row.slice(1, 3));
  }

  it('are read from their tables', () => {
    expect(reference.length).toBeGreaterThan(20);
    expect(rows.length).toBeGreaterThan(18);
  });

  it.each(rows.map(([name, byDefault]) => [name, byDefault]))('exist, with their default: %s', (name, byDefault) => {
    const defaults = reference.filter(([option]) => option === name.replaceAll('`', '')).map(([, value]) => value);
    expect(defaults).not.toEqual([]);
    // Words may differ; values may not.
    if (namesIn(byDefault).length > 0) expect(defaults).toContain(byDefault);
  });
});

describe('docs/reference/api.md', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const listed = [...read('docs/reference/api.md').matchAll(/^\| `(\w+)` \| \w/gm)].map(([, name]) => name);
  const entries = ['', 'testing/', 'contract/', 'dashboard/', 'prometheus/', 'otel/', 'terminus/', 'swagger/'];

  it('lists every export of every entry once', () => {
    const names = entries.flatMap((entry) => exportsOf(root, `libs/distribute-lock/src/${entry}index.ts`));
    names.push(...exportsOf(root, 'libs/distribute-lock/src/core.ts', ['locks/create-locks.js', 'locks/door.js']));
    expect(new Set(listed)).toEqual(new Set(names.map(({ name }) => name)));
    expect(listed).toHaveLength(names.length);
  });
});
