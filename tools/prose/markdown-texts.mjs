/** The prose of a Markdown document: paragraphs, headings, list items and cells of tables. */

const FENCE = /^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2 *$/gm;
const FRONT_MATTER = /^---\n[\s\S]*?\n---\n/;
const COMMENT = /<!--[\s\S]*?-->/g;
const TARGET = /\]\([^)\s]*(?: "[^"]*")?\)|\]\[[^\]]*\]|^\[[^\]]+\]: .*$/gm;
const START = /^\s*(?:[-*+] |\d+\. |#{1,6} |>|\[\^[^\]]+\]:)/;

/** Each text with its offset in the file. It has the length of its source, so offsets within it stay valid. */
export function markdownTexts(source) {
  const prose = [FRONT_MATTER, FENCE, COMMENT, TARGET, /<[^>\n]+>/g].reduce(
    (text, part) => text.replace(part, blank),
    source,
  );
  const texts = [];
  let offset = 0;
  let open;
  for (const line of prose.split('\n')) {
    if (line.startsWith('|')) {
      for (const cell of cellsOf(line)) texts.push({ offset: offset + cell.at, text: cell.text });
      open = undefined;
    } else if (line.trim() === '') open = undefined;
    else if (open === undefined || START.test(line)) texts.push((open = { offset, text: line }));
    else open.text += `\n${line}`;
    offset += line.length + 1;
  }
  return texts.map(({ offset: at, text }) => ({ kind: 'document', offset: at, text: text.replace(MARKS, blank) }));
}

const MARKS = /^\s*(?:[-+>]|\d+\.|#+)|[[\]~]/g;

function cellsOf(line) {
  return [...line.matchAll(/(?:\\\||[^|])+/g)].map(({ 0: text, index: at }) => ({ at, text }));
}

const blank = (text) => text.replace(/[^\n]/g, ' ');
