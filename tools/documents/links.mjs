/** Checks links to files of this repository, to headings in them, and names of source files. Other links need a network. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { anchorsOf, linksOf } from './markdown.mjs';

/** A link with a scheme or a host. */
export const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|\/\/)/i;
/** A code span such as `store/redis/link.ts`. */
const SOURCE_FILE = /(?<!`)`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs|lua))`(?!`)/g;
const SOURCES = ['', 'libs/distribute-lock/src/', 'test/'];

/** The messages for the faulty links of the document `name` below `root`. */
export function linkFaults(root, name, text) {
  return linksOf(text).flatMap(({ target, line }) => {
    if (ELSEWHERE.test(target)) return [];
    const fault = faultOf(root, name, text, target);
    return fault === undefined ? [] : [`${name}:${line}: ${target} ${fault}`];
  });
}

/** The messages for code spans of `text` that name a missing source file. */
export function sourceFileFaults(root, name, text) {
  return [...text.matchAll(SOURCE_FILE)].flatMap(({ 1: path, index }) => {
    if (SOURCES.some((folder) => existsSync(join(root, folder, path)))) return [];
    return [`${name}:${text.slice(0, index).split('\n').length}: ${path} does not exist`];
  });
}

function faultOf(root, name, text, target) {
  const [path, anchor] = decodeURI(target).split('#');
  if (path.startsWith('/')) return 'begins with "/", which is a different place for each reader';
  const file = join(root, dirname(name), path);
  if (relative(root, file).startsWith('..')) return 'leaves the repository';
  if (path !== '' && !existsSync(file)) return 'leads nowhere';
  if (anchor === undefined || !(path === '' || path.endsWith('.md'))) return undefined;
  if (path !== '' && !statSync(file).isFile()) return 'leads to no file';
  const there = path === '' ? text : readFileSync(file, 'utf8');
  return anchorsOf(there).has(anchor) ? undefined : `leads to no heading "#${anchor}"`;
}
