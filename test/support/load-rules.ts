/**
 * Compiles a file of the library, with the rules of `store/protocol` that it imports, into one module and imports it.
 * Planted changes may replace texts, and the durations of `store/protocol.ts` may become others.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { build } from 'esbuild';

/** A textual change of a file below `libs/distribute-lock/src`. */
export interface Change {
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly measure: string;
  readonly without: string;
}

export interface RulesSettings {
  /** By the names of their constants. */
  readonly durations?: Readonly<Record<string, number>>;
  readonly changes?: readonly Change[];
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SOURCE = join(ROOT, 'libs/distribute-lock/src/');

/** @param entry - the file of the repository whose exports are returned */
export async function loadRules<T>(entry: string, { durations = {}, changes = [] }: RulesSettings = {}): Promise<T> {
  const unused = new Set(changes);
  const { outputFiles } = await build({
    entryPoints: [ROOT + entry],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'silent',
    target: 'es2022',
    plugins: [
      {
        name: 'changed rules',
        setup: ({ onLoad }) => {
          onLoad({ filter: /\.ts$/ }, async ({ path }) => {
            const file = relative(SOURCE, path);
            let contents = await readFile(path, 'utf8');
            if (file === 'store/protocol.ts') contents = withDurations(contents, durations);
            for (const change of changes) {
              if (file !== change.file) continue;
              contents = changed(contents, change);
              unused.delete(change);
            }
            return { contents, loader: 'ts' };
          });
        },
      },
    ],
  });
  for (const { file } of unused) throw new Error(`The rules do not use ${file}.`);
  // A file, so that an error does not show the text of the module.
  const folder = await mkdtemp(join(tmpdir(), 'changed-rules-'));
  try {
    const file = join(folder, 'rules.mjs');
    await writeFile(file, outputFiles[0].contents);
    return (await import(pathToFileURL(file).href)) as T;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function withDurations(text: string, durations: Readonly<Record<string, number>>): string {
  for (const [name, ms] of Object.entries(durations)) {
    const declaration = new RegExp(`export const ${name} = [\\d_]+;`);
    if (!declaration.test(text)) throw new Error(`store/protocol.ts has no number ${name}.`);
    text = text.replace(declaration, `export const ${name} = ${ms};`);
  }
  return text;
}

function changed(text: string, { file, measure, without }: Change): string {
  if (text.split(measure).length !== 2) throw new Error(`"${measure}" does not occur exactly once in ${file}.`);
  return text.replace(measure, () => without);
}
