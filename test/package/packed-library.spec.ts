import { packLibrary, type PackedLibrary } from './packed-library.js';

describe('the packed library', () => {
  let packed: PackedLibrary;

  beforeAll(async () => {
    packed = await packLibrary();
  });

  it('runs in a small ESM application that has nothing but its dependencies and peers', async () => {
    const printed = JSON.parse(await packed.runConsumer()) as unknown;

    expect(printed).toEqual({ answers: ['settled 42', 'LOCK_CONTENDED', 'settled 43'], token: true });
  });

  it('brings its documents, its types and the sources that its source maps name', () => {
    expect(packed.files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'dist/index.d.ts',
        'dist/index.js',
        'dist/index.js.map',
        'package.json',
        'src/index.ts',
      ]),
    );
  });

  it('brings nothing else', () => {
    const expected = /^(LICENSE|README\.md|package\.json|dist\/.+\.(js|js\.map|d\.ts)|src\/.+\.(ts|lua))$/;

    expect(packed.files.filter((file) => !expected.test(file))).toEqual([]);
    expect(packed.files.filter((file) => file.includes('.spec.'))).toEqual([]);
  });
});
