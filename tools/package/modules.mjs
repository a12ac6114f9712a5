import { execFileSync } from 'node:child_process';
import { nestEntries, optionalEntries, plainEntries } from './library.mjs';

const WAYS = {
  import: (specifier) => [
    '--input-type=module',
    '-e',
    `${PRINT}(await import('${specifier}'), import.meta.resolve('${specifier}'))`,
  ],
  require: (specifier) => [
    '--input-type=commonjs',
    '-e',
    `${PRINT}(require('${specifier}'), require.resolve('${specifier}'))`,
  ],
};
const PRINT = `((names, file) => console.log(JSON.stringify({
  names: Object.keys(names).sort(),
  renamed: Object.keys(names).filter((name) => typeof names[name] === 'function' && names[name].name !== name),
  file,
})))`;
const FOLDERS = { import: '/dist/esm/', require: '/dist/cjs/' };

/**
 * Each entry loads by `import` and by `require`, each from its own format, with the same names. The entries of the core load
 * without optional peers, and the one for programs without Nest also without Nest.
 */
export function modules({ installed, plain, complete }) {
  return [
    ...nestEntries.map(({ specifier }) => [specifier, installed]),
    ...plainEntries.map(({ specifier }) => [specifier, plain]),
    ...optionalEntries.map(({ specifier }) => [specifier, complete]),
  ]
    .map(([specifier, folder]) => `${specifier} brings ${same(specifier, folder).split(' ').length} names either way`)
    .join(', ');
}

/** The names that an entry exports; `folders` are parts of the paths of its two formats. */
export function same(specifier, cwd, folders = FOLDERS) {
  const [imported, required] = Object.entries(WAYS).map(([way, script]) => {
    const printed = execFileSync(process.execPath, script(specifier), {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { names, renamed, file } = JSON.parse(printed);
    // Messages of Nest contain the names of classes.
    if (renamed.length > 0) throw new Error(`${specifier} exports ${renamed.join(', ')}, whose name differs`);
    if (!file.includes(folders[way])) throw new Error(`${way} of ${specifier} leads to ${file}`);
    if (names.length === 0) throw new Error(`${way} of ${specifier} exports nothing`);
    return names.join(' ');
  });
  if (imported !== required) throw new Error(`${specifier} exports ${imported} by import, but ${required} by require`);
  return imported;
}
