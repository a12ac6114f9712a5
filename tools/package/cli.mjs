/** The package `distribute-lock`: the program, and the locks without Nest under a shorter name. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { install } from './install.mjs';
import { CLI, cliManifest, manifest, ROOT } from './library.mjs';
import { links } from './links.mjs';
import { lint, types } from './lint.mjs';
import { same } from './modules.mjs';
import { PROGRAM_PAGES } from '../documents/llms.mjs';
import { dryRun } from './publish.mjs';

const MOST_BYTES = 60_000;
/** The files of the program, which its build writes. */
const programFiles = () => readdirSync(join(CLI, 'dist')).map((name) => `dist/${name}`);
const CORE = `${manifest.name}/core`;

/** It has the version of the library, only its own files, right types, and the names of the core in either format. */
export async function cli({ tarball, folder, packCli }) {
  const packed = packCli();
  const wrong = [...wrongManifest(), ...wrongFiles(packed)];
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  const application = installBoth(tarball, packed.tarball, join(folder, 'with-cli'));
  const names = same(cliManifest.name, application, { import: '', require: '' });
  if (names !== same(CORE, application)) throw new Error(`${cliManifest.name} and ${CORE} export different names`);
  const help = helpOf(application);
  links({ files: packed.files, installed: application, name: cliManifest.name });
  const { id } = await dryRun(packed.tarball);
  return [await lint(packed), await types(packed), `${packed.size} bytes`, `npm would publish ${id}`, help].join('; ');
}

function wrongManifest() {
  const { version, dependencies } = cliManifest;
  const exact = { ioredis: ioredisVersion(), [manifest.name]: manifest.version };
  return [
    ...(version === manifest.version ? [] : [`has version ${version}, but the library has ${manifest.version}`]),
    ...(JSON.stringify(dependencies) === JSON.stringify(exact)
      ? []
      : [`depends on ${JSON.stringify(dependencies)}, but must depend on ${JSON.stringify(exact)}`]),
  ];
}

/** The version with which the library is tested. */
function ioredisVersion() {
  return JSON.parse(readFileSync(join(ROOT, 'node_modules/ioredis/package.json'), 'utf8')).version;
}

function wrongFiles({ files, size }) {
  const paths = files.map(({ path }) => path);
  const own = cliManifest.files.filter((name) => name !== 'dist' && name !== 'docs');
  const needed = [...own, ...programFiles(), ...PROGRAM_PAGES, 'LICENSE', 'README.md', 'package.json'];
  const isWrong = paths.length !== needed.length || !needed.every((path) => paths.includes(path));
  return [
    ...(isWrong ? [`contains ${paths.join(', ')}, but must contain ${needed.join(', ')}`] : []),
    ...(size < MOST_BYTES ? [] : [`has ${size} bytes, but must have less than ${MOST_BYTES}`]),
  ];
}

/** The packed program is executable. */
function helpOf(application) {
  const program = join(application, 'node_modules', cliManifest.name, cliManifest.bin[cliManifest.name]);
  const run = (...words) => execFileSync(program, words, { encoding: 'utf8' });
  if (!run('--help').includes('run KEY')) throw new Error('--help does not name the command run');
  return '--help works';
}

/** Without the packages of Nest. */
function installBoth(tarball, own, folder) {
  install(tarball, folder, { plain: true });
  const installed = join(folder, 'node_modules', cliManifest.name);
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', own, '--strip-components=1', '-C', installed]);
  return folder;
}
