import { execFile } from 'node:child_process';
import { manifest, ROOT } from './library.mjs';

/** A registry that has no such endpoint says so; whatever else goes wrong is a failure. */
const NO_ENDPOINT = [404, 405, 501];

/** `npm audit --omit=dev` of the library with its peers; `options` are more of npm's. */
export async function audit(_packed, ...options) {
  const report = await ask(options);
  if (NO_ENDPOINT.includes(report.statusCode))
    return `skipped, as this registry has no audit endpoint (${report.message})`;
  const found = report.metadata?.vulnerabilities?.total;
  if (found === undefined) throw new Error(`npm audit could not tell: ${report.message ?? JSON.stringify(report)}`);
  if (found > 0)
    throw new Error(
      Object.values(report.vulnerabilities)
        .map(({ name, severity }) => `${name} (${severity})`)
        .join(', '),
    );
  return 'nothing known against what users install';
}

function ask(options) {
  const npm = ['audit', '--omit=dev', '--json', '--workspace', manifest.name, ...options];
  return new Promise((resolve, reject) => {
    execFile('npm', npm, { cwd: ROOT, encoding: 'utf8' }, (error, stdout) => {
      try {
        resolve(JSON.parse(stdout));
      } catch {
        reject(error ?? new Error(`npm audit said: ${stdout}`));
      }
    });
  });
}
