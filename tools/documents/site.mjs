/** Checks the pages of a built site. VitePress itself checks neither anchors nor pictures. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ELSEWHERE } from './links.mjs';

const LINK = /<(a|img|script|link)\b[^>]*?\s(?:href|src)="([^"]+)"/g;

/**
 * Each link and picture must lead to a file of the site, and each anchor to an element. No page may load anything from another
 * host.
 * @param base - the path below which the site is served, such as `/`
 * @returns the number of pages and links, and a message for each fault
 */
export function checkSite(site, base) {
  const names = readdirSync(site, { recursive: true }).map(String);
  const pages = names.filter((name) => name.endsWith('.html') && name !== '404.html');
  const texts = new Map(pages.map((name) => [name, readFileSync(join(site, name), 'utf8')]));
  const anchors = new Map([...texts].map(([name, text]) => [name, anchorsOf(text)]));
  const links = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(LINK)].map(([, element, url]) => ({ page, element, url: url.replaceAll('&amp;', '&') })),
  );
  // The list of pages for programs is text.
  for (const page of names.filter((name) => name === 'llms.txt')) {
    const text = readFileSync(join(site, page), 'utf8');
    for (const [, url] of text.matchAll(/\]\(([^)]+)\)/g)) links.push({ page, element: 'a', url });
  }
  const faults = links.flatMap(({ page, element, url }) => {
    const fault = faultOf({ site, base, anchors }, page, element, url);
    return fault === undefined ? [] : [`${page}: ${url} ${fault}`];
  });
  return { pages: pages.length, links: links.length, faults: [...new Set(faults)] };
}

function anchorsOf(text) {
  return new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id));
}

function faultOf({ site, base, anchors }, page, element, url) {
  if (url.startsWith('data:')) return undefined;
  if (ELSEWHERE.test(url)) return element === 'a' ? undefined : 'is loaded from another host';
  const [path, anchor] = decodeURI(url).split('#');
  const file = path === '' ? page : fileOf(site, base, page, path);
  if (file === undefined) return 'leads nowhere';
  if (anchor === undefined || anchor === '' || !anchors.has(file)) return undefined;
  return anchors.get(file).has(anchor) ? undefined : 'leads to no anchor';
}

function fileOf(site, base, page, path) {
  if (path.startsWith('/') && !path.startsWith(base)) return undefined;
  const name = path.startsWith('/') ? path.slice(base.length) : posix.join(posix.dirname(page), path);
  return [name, `${name}.html`, posix.join(name, 'index.html')].find(
    (file) => existsSync(join(site, file)) && statSync(join(site, file)).isFile(),
  );
}
