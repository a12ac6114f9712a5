/**
 * Code in documents is cut from files that compile and run. A line before each block names its source:
 *
 *     <!-- cut from test/recipes/cron/reports.ts#nightly -->
 *
 * A region starts in the file with `// #region nightly` and ends with `// #endregion`. A source without a name is the whole file.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fencesOf } from './markdown.mjs';

const CODE = new Set(['ts', 'typescript', 'tsx', 'js', 'javascript', 'mjs', 'cjs', 'mts', 'cts']);
const CUT_FROM = /^cut from (\S+?)(?:#(\S+))?$/;
const MARKER = /^\s*\/\/ #(end)?region\b/;

/** The messages for the faulty snippets of `text`. */
export function snippetFaults(root, name, text) {
  return blocksOf(text).flatMap(({ line, code, indent, source, region }) => {
    const at = `${name}:${line}`;
    if (source === undefined) return [`${at}: code without a line <!-- cut from file#region --> before it`];
    const cut = cutFrom(root, source, region);
    if (cut.fault !== undefined) return [`${at}: ${cut.fault}`];
    return indented(cut.code, indent) === code
      ? []
      : [`${at}: differs from ${shown(source, region)}: run \`npm run docs\``];
  });
}

/** `text` with every snippet updated from its file. */
export function filled(root, text) {
  let result = text;
  for (const { source, region, indent, codeAt, codeEnd } of blocksOf(text).toReversed()) {
    const cut = source === undefined ? {} : cutFrom(root, source, region);
    if (cut.code !== undefined) result = result.slice(0, codeAt) + indented(cut.code, indent) + result.slice(codeEnd);
  }
  return result;
}

/** The files that the snippets of `text` are cut from. */
export function sourcesOf(text) {
  return [...new Set(blocksOf(text).flatMap(({ source }) => source ?? []))];
}

function blocksOf(text) {
  const blocks = fencesOf(text).filter(({ language }) => CODE.has(language.toLowerCase()));
  return blocks.map((block) => {
    const [, source, region] = CUT_FROM.exec(block.comment ?? '') ?? [];
    const { line, code, indent, codeAt, codeEnd } = block;
    return { line, code, indent, codeAt, codeEnd, source, region };
  });
}

function cutFrom(root, source, region) {
  const file = join(root, source);
  if (!existsSync(file)) return { fault: `${source} does not exist` };
  const lines = readFileSync(file, 'utf8').replaceAll('\r\n', '\n').trimEnd().split('\n');
  if (region === undefined) return { code: tidy(lines) };
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  if (start < 0) return { fault: `${source} has no "// #region ${region}"` };
  const length = endOf(lines.slice(start + 1));
  if (length < 0) return { fault: `${source} does not end its "// #region ${region}"` };
  return { code: tidy(lines.slice(start + 1, start + 1 + length)) };
}

/** Regions may be nested. */
function endOf(lines) {
  let depth = 0;
  return lines.findIndex((line) => {
    const marker = MARKER.exec(line);
    if (marker === null) return false;
    depth += marker[1] === undefined ? 1 : -1;
    return depth < 0;
  });
}

/** Removes the markers and the common indentation. */
function tidy(lines) {
  const code = lines.filter((line) => !MARKER.test(line));
  const margin = Math.min(...code.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return `${code
    .map((line) => line.slice(margin))
    .join('\n')
    .trim()}\n`;
}

function indented(code, indent) {
  return code.replace(/^(?=.)/gm, indent);
}

const shown = (source, region) => (region === undefined ? source : `${source}#${region}`);
