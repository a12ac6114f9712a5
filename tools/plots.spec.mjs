import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pictures, plotFaults, plots, resultsIn, writePlots } from './documents/plots.mjs';
import { barChart } from './documents/svg-bars.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGES = ['docs/benchmarks.md', 'docs/internals/faults.md'];
/** The page with another number of holds per second in our row of looping callers. */
const withContendedHolds = (page, holds) =>
  page.replace(
    /(\| holds\/s +\| of raw-queue [^#]*?\n\| nestjs-distribute-lock +\| +)[\d ]+\d/,
    (_, start) => start + holds,
  );
const widths = (svg) => [...svg.matchAll(/<rect x="245" y="\d+" width="([\d.]+)"/g)].map(([, width]) => Number(width));

describe('the plots of the benchmark', () => {
  it('show the current results, and are all on the page', () => {
    expect(plotFaults(ROOT)).toEqual([]);
    expect(readFileSync(new URL('../docs/benchmarks.md', import.meta.url), 'utf8')).toContain(pictures);
  });

  it('have a bar for each library', () => {
    for (const [path, svg] of plots(ROOT)) {
      if (path.endsWith('/recovery.svg')) continue;
      expect(svg).toContain('>nestjs-distribute-lock</text>');
      expect(svg).toContain('>redis-semaphore</text>');
      expect(svg).not.toMatch(/NaN|undefined/);
    }
  });

  it('are drawn from the page, and the gate reports them until then', () => {
    const root = mkdtempSync(join(tmpdir(), 'plots-'));
    try {
      mkdirSync(join(root, 'docs/internals'), { recursive: true });
      for (const page of PAGES) cpSync(join(ROOT, page), join(root, page));
      expect(plotFaults(root)).toHaveLength(8);
      expect(writePlots(root)).toHaveLength(8);
      expect(plotFaults(root)).toEqual([]);

      const page = join(root, PAGES[0]);
      writeFileSync(page, withContendedHolds(readFileSync(page, 'utf8'), '7 654'));
      expect(plotFaults(root)).toEqual([expect.stringContaining('docs/plots/contended.svg')]);
      expect(writePlots(root)).toEqual(['docs/plots/contended.svg']);
      expect(readFileSync(join(root, 'docs/plots/contended.svg'), 'utf8')).toContain('>7 654</text>');
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });

  it('can be drawn from the tables of the page', () => {
    const page =
      '# B\n\n## One\n\nnote\n\n| | a/s |\n| --- | --: |\n| x y | 4 530 |\n| z | 0.5 |\n\n| b |\n| --- |\n| >= 1 |\n';
    expect(resultsIn(page)).toEqual([
      {
        title: 'One',
        tables: [
          {
            columns: ['', 'a/s'],
            rows: [
              ['x y', 4530],
              ['z', 0.5],
            ],
          },
          { columns: ['b'], rows: [['>= 1']] },
        ],
      },
    ]);
  });
});

describe('a bar chart', () => {
  const rows = [10, 1000, 100].map((value) => ({ name: `<${value}>`, values: [value] }));

  it('has bars in proportion to their values', () => {
    const [first, second, third] = widths(barChart({ title: 't', unit: 'u', rows }, String));
    expect(second / first).toBeCloseTo(100, 0);
    expect(second / third).toBeCloseTo(10, 1);
  });

  it('has bars in proportion to their magnitude on a logarithmic scale', () => {
    const [first, second, third] = widths(barChart({ title: 't', unit: 'u', rows, log: true }, String));
    expect(second / first).toBeCloseTo(3, 1);
    expect(third / first).toBeCloseTo(2, 1);
  });

  it('escapes names', () => {
    expect(barChart({ title: 'a & b', unit: 'u', rows }, String)).toMatch(/a &amp; b[\s\S]*&lt;10&gt;/);
  });
});
