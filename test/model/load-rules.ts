/**
 * Compiles the rules of `store/protocol` into one module and imports it. The durations of `store/protocol.ts` become those
 * of the model, and a planted change may replace a text of one file.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { build } from 'esbuild';

import type * as Rules from '../../libs/distribute-lock/src/store/protocol/run-script.js';

export type RunScript = typeof Rules.runScript;

/** A textual change of a file below `libs/distribute-lock/src`. */
export interface Change {
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly measure: string;
  readonly without: string;
}

const SOURCE = fileURLToPath(new URL('../../libs/distribute-lock/src/', import.meta.url));

export async function loadRules(durations: Readonly<Record<string, number>>, change?: Change): Promise<RunScript> {
  let isChanged = false;
  const { outputFiles } = await build({
    entryPoints: [`${SOURCE}store/protocol/run-script.ts`],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'silent',
    target: 'es2022',
    plugins: [
      {
        name: 'rules of the model',
        setup: ({ onLoad }) => {
          onLoad({ filter: /\.ts$/ }, async ({ path }) => {
            const file = relative(SOURCE, path);
            let contents = await readFile(path, 'utf8');
            if (file === 'store/protocol.ts') contents = withDurations(contents, durations);
            if (file === change?.file) {
              contents = changed(contents, change);
              isChanged = true;
            }
            return { contents, loader: 'ts' };
          });
        },
      },
    ],
  });
  if (change !== undefined && !isChanged) throw new Error(`The rules do not use ${change.file}.`);
  // A file, so that an error does not show the text of the module.
  const folder = await mkdtemp(join(tmpdir(), 'model-rules-'));
  try {
    const file = join(folder, 'rules.mjs');
    await writeFile(file, outputFiles[0].contents);
    return ((await import(pathToFileURL(file).href)) as typeof Rules).runScript;
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
