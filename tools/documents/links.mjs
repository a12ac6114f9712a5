/** Checks links to files of this repository, and to headings in them. Other links need a network. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { anchorsOf, linksOf } from './markdown.mjs';

const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|\/\/)/i;

/** The messages for the faulty links of the document `name` below `root`. */
export function linkFaults(root, name, text) {
  return linksOf(text).flatMap(({ target, line }) => {
    if (ELSEWHERE.test(target)) return [];
    const fault = faultOf(root, name, text, target);
    return fault === undefined ? [] : [`${name}:${line}: ${target} ${fault}`];
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
