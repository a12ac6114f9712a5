import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { lockMetrics } from 'nestjs-distribute-lock/prometheus';
import { Registry } from 'prom-client';

import { INSTRUMENTS, type Instrument } from '../../libs/distribute-lock/src/metrics/instruments.js';

const run = promisify(execFile);
/** Debian package prometheus; CI installs it if it can. */
const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
const itWithPromtool = hasPromtool ? it : it.skip;
const DOCS = new URL('../../docs/', import.meta.url);
const OPERATING = fileURLToPath(new URL('operating', DOCS));
const read = (path: string): string => readFileSync(new URL(path, DOCS), 'utf8');

/** What Prometheus reads from an application: name of the series, and labels. */
async function series(): Promise<Map<string, readonly string[]>> {
  const registry = new Registry();
  const { stop } = lockMetrics({ registry });
  const metrics = await registry.getMetricsAsJSON();
  stop();
  return new Map(
    metrics.flatMap(({ name, type }): [string, readonly string[]][] => {
      const { labels } = Object.values(INSTRUMENTS).find((each) => name.startsWith(each.name.replaceAll('.', '_')))!;
      const own = labels.map((label) => label.replaceAll('.', '_'));
      if (String(type) !== 'histogram') return [[name, own]];
      return ['_bucket', '_sum', '_count'].map((suffix) => [name + suffix, own]);
    }),
  );
}

const namesIn = (text: string): string[] => [...new Set(text.match(/\bdistribute_lock_\w+/g))].sort();

describe('The documents for operators', () => {
  it.each([
    'operating/alert-rules.yml',
    'operating/alert-rules.test.yml',
    'operating/grafana/dashboards/distributed-locks.json',
  ])('use only metrics that the code emits: %s', async (path) => {
    const known = await series();
    const used = namesIn(read(path));
    expect(used.length).toBeGreaterThan(4);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  it('show every metric in the dashboard', async () => {
    const shown = namesIn(read('operating/grafana/dashboards/distributed-locks.json'));
    const prefixes = [...(await series()).keys()].map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    expect([...new Set(prefixes)].filter((name) => !shown.some((each) => each.startsWith(name)))).toEqual([]);
  });

  it('use only labels that the code sets', () => {
    const known = new Set(
      Object.values(INSTRUMENTS).flatMap(({ labels }) => labels.map((label) => label.replaceAll('.', '_'))),
    );
    const text = ['alert-rules.yml', 'grafana/dashboards/distributed-locks.json']
      .map((file) => read(`operating/${file}`))
      .join('');
    const used = new Set(text.match(/\b(lock|error)_[a-z]+\b(?!_)/g)?.filter((word) => !word.startsWith('lock_name)')));
    expect([...used].filter((label) => !known.has(label as never))).toEqual([]);
  });

  it('list every metric with both names, its type, unit and attributes', () => {
    const rows = read('reference/metrics.md')
      .split('\n')
      .filter((line) => line.startsWith('| `distribute_lock.'));
    const expected = Object.values(INSTRUMENTS).map(({ name, type, unit, labels }: Instrument) => {
      const suffix = (unit === 's' ? '_seconds' : '') + (type === 'counter' ? '_total' : '');
      const attributes = labels.map((label) => `\`${label}\``).join(', ') || 'none';
      return `| \`${name}\` | \`${name.replaceAll('.', '_')}${suffix}\` | ${type}, ${unit} | ${attributes} |`;
    });
    expect(rows).toEqual(expected);
  });

  itWithPromtool.each([
    ['check', 'rules', 'alert-rules.yml'],
    ['test', 'rules', 'alert-rules.test.yml'],
    ['check', 'config', 'prometheus.yml'],
  ])('pass promtool %s %s %s', async (...words) => {
    const { stdout } = await run('promtool', words, { cwd: OPERATING });
    expect(stdout).toContain('SUCCESS');
  });
});
