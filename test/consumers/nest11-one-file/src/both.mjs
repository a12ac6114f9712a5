/** Runs both bundles in a folder without packages. Prints their report. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'one-file-'));
try {
  const [esbuild, webpack] = ['esbuild.js', 'webpack.js'].map((name) => {
    cpSync(join('bundles', name), join(folder, name));
    return execFileSync(process.execPath, [join(folder, name)], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .at(-1);
  });
  assert.deepEqual(JSON.parse(esbuild), JSON.parse(webpack));
  console.log(webpack);
} finally {
  rmSync(folder, { recursive: true });
}
