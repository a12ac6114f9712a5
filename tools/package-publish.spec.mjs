import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publish } from './package/publish.mjs';

const NAME = 'nestjs-distribute-lock';
const MANIFEST = { name: NAME, version: '1.0.0-rc.0' };

describe('The gate "publish"', () => {
  let folder;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'publish-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** A tarball of a package with this manifest, also installed. */
  function packed(manifest) {
    for (const path of ['package', `node_modules/${NAME}`]) {
      mkdirSync(join(folder, path), { recursive: true });
      writeFileSync(join(folder, path, 'package.json'), JSON.stringify(manifest));
    }
    const tarball = join(folder, 'package.tgz');
    execFileSync('tar', ['-czf', tarball, '-C', folder, 'package/package.json']);
    return { tarball, installed: folder };
  }

  it('accepts a candidate', async () => {
    await expect(publish(packed(MANIFEST))).resolves.toBe(`npm would publish ${NAME}@1.0.0-rc.0 with 1 file`);
  });

  it('refuses what npm refuses', async () => {
    const { tarball } = packed({ ...MANIFEST, version: 'candidate' });
    await expect(publish({ tarball, installed: folder })).rejects.toThrow('npm publish --dry-run failed');
  });

  it('refuses provenance without a repository', async () => {
    const publishConfig = { provenance: true };
    await expect(publish(packed({ ...MANIFEST, publishConfig }))).rejects.toThrow(
      'publishConfig.provenance needs the repository',
    );
    const repository = { type: 'git', url: 'git+https://example.test/owner/name.git' };
    await expect(publish(packed({ ...MANIFEST, publishConfig, repository }))).resolves.toContain('npm would publish');
  });
});
