import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packCli } from './pack-library.mjs';
import { manifestIn, sbomFaults, sbomOf } from './release/sbom.mjs';

describe('The bill of materials', () => {
  let folder;
  let packed;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sbom-spec-'));
    packed = new Map([['distribute-lock', packCli(folder).tarball]]);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('lists the package, its dependencies and theirs, with versions, and no development dependency', () => {
    // The library itself is taken from the workspace.
    const bill = sbomOf('distribute-lock', packed);
    const manifest = manifestIn(packed.get('distribute-lock'));
    expect(sbomFaults(bill, manifest)).toEqual([]);
    const purls = bill.components.map(({ purl }) => purl);
    expect(purls).toContain(`pkg:npm/ioredis@${manifest.dependencies.ioredis}`);
    expect(purls.some((purl) => purl.startsWith('pkg:npm/ms@2.'))).toBe(true);
    expect(purls.filter((purl) => /jest|typescript|@nestjs\//.test(purl))).toEqual([]);
    expect(readdirSync(folder)).toHaveLength(1);
  }, 120_000);

  it('is refused for another package, and without a dependency', () => {
    const bill = { bomFormat: 'CycloneDX', metadata: { component: { purl: 'pkg:npm/a@1.0.0' } }, components: [] };
    expect(sbomFaults(bill, { name: 'a', version: '1.0.0' })).toEqual([]);
    expect(sbomFaults(bill, { name: 'a', version: '1.0.1', dependencies: { ms: '^2' } })).toEqual([
      'is of pkg:npm/a@1.0.0, not of a@1.0.1',
      'does not list ms',
    ]);
    expect(sbomFaults({}, { name: 'a', version: '1' })).toContain('is no CycloneDX, but undefined');
  });
});
