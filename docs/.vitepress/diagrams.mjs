/** Draws the Mermaid blocks of the documents as SVG while the site is built. Pages need neither a script nor a network. */
import { renderMermaidSVG } from 'beautiful-mermaid';

/** Colours of the theme, which change with the colour scheme. */
const COLORS = {
  bg: 'var(--vp-c-bg)',
  fg: 'var(--vp-c-text-1)',
  accent: 'var(--vp-c-brand-1)',
  muted: 'var(--vp-c-text-2)',
  line: 'var(--vp-c-text-3)',
  border: 'var(--vp-c-border)',
  surface: 'var(--vp-c-bg-soft)',
};

/** A smaller screen scrolls to the rest of a diagram, because its text would be too small. */
const LEAST_WIDTH = 560;

/** A plugin of markdown-it. */
export function diagrams(md) {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, at, ...rest) =>
    tokens[at].info.trim() === 'mermaid' ? figure(md, tokens[at].content) : fence(tokens, at, ...rest);
}

function figure(md, source) {
  const drawn = renderMermaidSVG(source, { ...COLORS, transparent: true });
  const width = Math.min(LEAST_WIDTH, Number(/ width="([\d.]+)"/.exec(drawn)?.[1]));
  const svg = drawn
    // It loads a font from the network; theme/style.css has its rules.
    .replace(/<style>[\s\S]*?<\/style>/, '')
    .replace(' style="', ` style="min-width:${width}px;`)
    .replace('<svg ', `<svg role="img" aria-label="${md.utils.escapeHtml(label(source))}" `);
  return `<div class="diagram" tabindex="0" v-pre>${svg}</div>\n`;
}

/** The texts of the diagram, for readers that cannot see it. */
function label(source) {
  const lines = source.trim().split('\n').slice(1);
  return lines.map((line) => line.trim()).join('. ');
}
