import { readdirSync, readFileSync } from 'node:fs';

const SRC = new URL('../libs/distribute-lock/src/', import.meta.url);
const CLI = new URL('../libs/cli/src/', import.meta.url);
const text = readFileSync(new URL('../docs/internals/architecture.md', import.meta.url), 'utf8');
const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'));
const files = filesIn(SRC);
const programs = filesIn(CLI).map((file) => `libs/cli/src/${file}`);
const spans = (line) => [...line.matchAll(/`([^`]+)`/g)].map(([, span]) => span);
const isFile = (span) => /\.(?:ts|lua)$/.test(span) && !span.startsWith('.');
const found = (name) =>
  programs.includes(name) ? [`../../../${name}`] : files.filter((file) => file === name || file.endsWith(`/${name}`));

describe('docs/internals/architecture.md', () => {
  it('names only files of the library and the program', () => {
    const names = [...new Set(text.split('\n').flatMap(spans).filter(isFile))];
    expect(names.length).toBeGreaterThan(40);
    expect(names.filter((name) => found(name).length === 0)).toEqual([]);
  });

  it('names functions and types that the files before them contain', () => {
    const wrong = [];
    for (const line of text.split('\n')) {
      let sources = [];
      let areNamed = true;
      for (const span of spans(line)) {
        if (isFile(span)) {
          if (areNamed) sources = [];
          areNamed = false;
          sources.push(...found(span).map((file) => readFileSync(new URL(file, SRC), 'utf8')));
        } else {
          areNamed = true;
          const isWrong = sources.length > 0 && !sources.some((source) => source.includes(span));
          if (/^\w{4,}$/.test(span) && isWrong) wrong.push(`${span}: ${line}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('lists every reason for which a waiter continues', () => {
    const source = readFileSync(new URL('engine/wake-ups.ts', SRC), 'utf8');
    const reasons = [...source.matchAll(/readonly reason: '([^']+)'/g)].map(([, reason]) => reason);
    const handled = [...source.matchAll(/^ +case '([^']+)':/gm)].map(([, reason]) => reason);
    const [, rows] = /\| outcome \| reasons \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(text);
    const listed = rows.split('\n').flatMap((row) => row.split('|')[2]?.trim().split(', ') ?? []);
    expect(reasons).not.toEqual([]);
    expect(handled.toSorted()).toEqual(reasons.toSorted());
    expect(listed.toSorted()).toEqual(reasons.toSorted());
  });
});
