/** Menus of the site. Titles and order come from the documents themselves. */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { APPENDICES } from '../../tools/documents/llms.mjs';
import { linksOf } from '../../tools/documents/markdown.mjs';
import { pageOf } from './source-paths.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path) => readFileSync(`${ROOT}/${path}`, 'utf8');

/**
 * The menu at the top.
 * @param versions - other versions of the site: `[{ "text": "1.x", "link": "https://.../v1/" }]`
 */
export function navigation(version, versions) {
  return [
    { text: 'Guide', link: '/guide/', activeMatch: '^/guide/' },
    { text: 'Reference', link: '/reference/errors', activeMatch: '^/reference/' },
    { text: 'Safety', link: '/safety' },
    { text: version, items: [{ text: 'Changes', link: '/changes' }, ...versions] },
  ];
}

/** One sidebar for all pages. A page that no list names comes last in its folder, so none is forgotten. */
export function sidebar() {
  return [
    { text: 'Overview', items: ['README.md', 'docs/safety.md', 'docs/benchmarks.md'].map(item) },
    folder('Guide', 'docs/guide'),
    folder('Reference', 'docs/reference', APPENDICES),
    { ...folder('Internals', 'docs/internals'), collapsed: true },
    { ...folder('Decisions', 'docs/decisions'), collapsed: true },
    {
      text: 'Project',
      collapsed: true,
      items: ['CONTRIBUTING.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md', 'libs/distribute-lock/CHANGELOG.md'].map(item),
    },
    { text: 'Appendices', collapsed: true, items: APPENDICES.map(item) },
  ];
}

/** The pages in the order of the links in its README, if there is one, without `others`, which are listed elsewhere. */
function folder(text, path, others = []) {
  const files = readdirSync(`${ROOT}/${path}`).filter((name) => name.endsWith('.md'));
  const index = files.includes('README.md') ? ['README.md', ...linksOf(read(`${path}/README.md`)).map(target)] : [];
  const inOrder = [...new Set([...index.filter((name) => files.includes(name)), ...files])];
  const pages = inOrder.map((name) => posix.join(path, name)).filter((page) => !others.includes(page));
  return { text, items: pages.map(item) };
}

const target = (link) => link.target.split('#')[0];

/** Titles that only make sense outside of the site. */
const TITLES = new Map([
  ['README.md', 'Start'],
  ['docs/guide/README.md', 'All pages'],
  ['docs/decisions/README.md', 'All decisions'],
  ['libs/distribute-lock/CHANGELOG.md', 'Changes'],
]);

function item(path) {
  const title = TITLES.get(path) ?? /^# (.+)$/m.exec(read(path))?.[1];
  if (title === undefined) throw new Error(`${path} has no title`);
  return { text: title.replaceAll('`', ''), link: `/${pageOf(path)}`.replace(/(?:index)?\.md$/, '') };
}
