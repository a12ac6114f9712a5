/**
 * The site of the documents: `npm run docs:site` builds it into dist/site. All text comes from README.md, docs and the
 * documents at the top of the repository; `source-paths.mjs` says which page of the site each file is.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import footnote from 'markdown-it-footnote';
import { defineConfig } from 'vitepress';
import { FULL, INDEX, llmsFull, llmsIndex } from '../../tools/documents/llms.mjs';
import { slugOf } from '../../tools/documents/markdown.mjs';
import { webAddress } from '../../tools/package/packed-documents.mjs';
import { diagrams } from './diagrams.mjs';
import { navigation, sidebar } from './navigation.mjs';
import { excludedSources, pageOf } from './source-paths.mjs';
import { repositoryLinks } from './repository-links.mjs';

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const manifest = read('../../libs/distribute-lock/package.json');
const repository = webAddress(manifest);
const base = process.env.SITE_BASE ?? '/';
const root = fileURLToPath(new URL('../..', import.meta.url));

export default defineConfig({
  title: manifest.name,
  description: manifest.description,
  lang: 'en',
  // Browsers ask for an icon otherwise.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  /** The path below which the site is served; each version of the site has its own. */
  base,
  srcDir: '..',
  srcExclude: excludedSources,
  rewrites: (source) => pageOf(source) ?? source,
  outDir: '../dist/site',
  cacheDir: '../node_modules/.cache/vitepress',
  ignoreDeadLinks: false,
  buildEnd({ outDir }) {
    const address = (path) => base + pageOf(path).replace(/(?:index)?\.md$/, '');
    writeFileSync(join(outDir, INDEX), llmsIndex(root, address));
    writeFileSync(join(outDir, FULL), llmsFull(root));
  },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
    // The anchors of GitHub, which the links in the documents use.
    anchor: { slugify: slugOf },
    config(md) {
      md.use(footnote);
      md.use(repositoryLinks, repository);
      md.use(diagrams);
    },
  },
  themeConfig: {
    nav: navigation(manifest.version, read('./versions.json')),
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    externalLinkIcon: true,
    ...(repository === undefined ? {} : { socialLinks: [{ icon: 'github', link: repository }] }),
    footer: { message: 'MIT licensed.' },
  },
});
