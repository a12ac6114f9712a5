import { execFile } from 'node:child_process';
import { cliManifest, manifest, ROOT } from './library.mjs';

/** Status codes of a registry without this endpoint; any other error is a failure. */
const NO_ENDPOINT = [404, 405, 501];

/** `npm audit --omit=dev` of both packages with their peers; `options` are further npm options. */
export async function audit(_packed, ...options) {
  const report = await ask(options);
  if (NO_ENDPOINT.includes(report.statusCode))
    return `skipped, as this registry has no audit endpoint (${report.message})`;
  const found = report.metadata?.vulnerabilities?.total;
  if (found === undefined) throw new Error(`npm audit returned no result: ${report.message ?? JSON.stringify(report)}`);
  if (found > 0)
    throw new Error(
      Object.values(report.vulnerabilities)
        .map(({ name, severity }) => `${name} (${severity})`)
        .join(', '),
    );
  return 'no known vulnerability in the packages of users';
}

function ask(options) {
  const npm = [
    'audit',
    '--omit=dev',
    '--json',
    '--workspace',
    manifest.name,
    '--workspace',
    cliManifest.name,
    ...options,
  ];
  return new Promise((resolve, reject) => {
    execFile('npm', npm, { cwd: ROOT, encoding: 'utf8' }, (error, stdout) => {
      try {
        resolve(JSON.parse(stdout));
      } catch {
        reject(error ?? new Error(`npm audit printed no JSON: ${stdout}`));
      }
    });
  });
}
