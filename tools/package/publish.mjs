import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { manifest } from './library.mjs';

/** npm refuses a version such as `1.0.0-rc.0` if no tag is given. */
const CANDIDATE_TAG = 'rc';

/** npm accepts the manifest and the tarball: `npm publish --dry-run`. Publishes nothing. */
export async function publish({ tarball, installed }) {
  const published = JSON.parse(readFileSync(join(installed, 'node_modules', manifest.name, 'package.json'), 'utf8'));
  // A dry run does not report it, but the registry refuses it.
  if (published.publishConfig?.provenance === true && published.repository === undefined)
    throw new Error('publishConfig.provenance needs the repository of the package: see docs/internals/releasing.md');
  const { id, files } = await dryRun(tarball);
  return `npm would publish ${id} with ${files.length} file${files.length === 1 ? '' : 's'}`;
}

/** What npm would publish, or stage by `['stage', 'publish']`, for which npm 11.15 is needed. */
export function dryRun(tarball, command = ['publish']) {
  const npm = [...command, tarball, '--dry-run', '--tag', CANDIDATE_TAG, '--json'];
  return new Promise((resolve, reject) => {
    execFile('npm', npm, { encoding: 'utf8' }, (error, stdout, stderr) => {
      if (error !== null) return reject(new Error(`npm ${command.join(' ')} --dry-run failed:\n${stderr}${stdout}`));
      const answer = JSON.parse(stdout);
      // newer versions of npm print an object by package
      resolve(answer.id === undefined ? Object.values(answer)[0] : answer);
    });
  });
}
