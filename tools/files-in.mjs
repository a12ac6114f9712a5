import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The files of a folder whose paths match, sorted, relative to the repository; installed and built ones are left out. */
export const filesIn = (folder, wanted) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => wanted.test(file) && !/(?:^|[\\/])(?:node_modules|dist)[\\/]/.test(file))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
    .sort();

/** The text of a file of the repository. */
export const textOf = (file) => readFileSync(join(root, file), 'utf8');
