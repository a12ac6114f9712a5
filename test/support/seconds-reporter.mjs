import { dirname, relative } from 'node:path';

const SLOWEST = 5;

/** Prints after a run of several spec files where the seconds of the workers went. */
export default class SecondsReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_, { testResults }) {
    if (testResults.length <= SLOWEST) return;
    const specs = testResults.map(({ testFilePath, perfStats }) => ({
      name: relative(this.rootDir, testFilePath),
      seconds: (perfStats.end - perfStats.start) / 1_000,
    }));
    const folders = new Map();
    for (const { name, seconds } of specs) {
      const folder = dirname(name).split('/').slice(0, 2).join('/');
      folders.set(folder, (folders.get(folder) ?? 0) + seconds);
    }
    const slowest = specs.map(({ name, seconds }) => [name, seconds]).toSorted(bySeconds);
    print('Seconds of the workers', [...folders].toSorted(bySeconds));
    print('The slowest files', slowest.slice(0, SLOWEST));
  }
}

function bySeconds([, one], [, other]) {
  return other - one;
}

function print(title, rows) {
  const lines = rows.map(([name, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${name}\n`);
  process.stderr.write(`\n${title}:\n${lines.join('')}`);
}
