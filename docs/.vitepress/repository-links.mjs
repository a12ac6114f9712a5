/**
 * The documents link to files, as GitHub shows them. On the site a link to a document leads to its page. A link to another
 * file leads to the repository, or is plain text while the address of the repository is not known.
 */
import { posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageOf } from './source-paths.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|\/\/|#)/i;

/**
 * A plugin of markdown-it.
 * @param repository - the address of the repository, such as `https://github.com/owner/name`
 */
export function repositoryLinks(md, repository) {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const source = relative(ROOT, env.realPath ?? env.path).replaceAll('\\', '/');
    for (const { children } of tokens) if (children) rewriteLinks(children, posix.dirname(source), repository);
  });
}

function rewriteLinks(children, folder, repository) {
  const open = [];
  for (const token of children) {
    if (token.type === 'link_open') open.push(rewrite(token, folder, repository));
    // A link that leads nowhere on the site: only its text remains.
    if (token.type === 'link_close' && open.pop() === undefined) hide(token);
  }
}

/** The new target of the link; `undefined` if it has none. */
function rewrite(token, folder, repository) {
  const href = token.attrGet('href');
  if (ELSEWHERE.test(href)) return href;
  const [path, anchor] = href.split('#');
  const file = posix.join(folder, path);
  const page = pageOf(file);
  const target = page === undefined ? repository && `${repository}/blob/main/${file}` : `/${page}`;
  if (target === undefined) hide(token);
  else token.attrSet('href', anchor === undefined ? target : `${target}#${anchor}`);
  return target;
}

/** Renders nothing; markdown-it has no token for that. */
function hide(token) {
  token.type = 'text';
  token.tag = '';
  token.nesting = 0;
  token.attrs = null;
  token.content = '';
}
