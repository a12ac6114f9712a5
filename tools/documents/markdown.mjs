/** The parts of Markdown that the gates need. */

const FENCE = /^( *)(`{3,}|~{3,})([\w-]*)[^\n]*\n([\s\S]*?)^\1\2 *$/gm;
const HEADING = /^#{1,6} +(.+?) *#*$/gm;
const LINK = /\]\(<?([^\s)>]+)>?(?: +"[^"]*")?\)|^\[[^\]]+\]: *<?(\S+?)>?$|<(?:a|img) [^>]*(?:href|src)="([^"]+)"/gm;

/** Fenced blocks: their language, code, position, and the HTML comment before them. */
export function fencesOf(text) {
  return [...text.matchAll(FENCE)].map((match) => {
    const [whole, indent, marks, language, code] = match;
    const before = text.slice(0, match.index);
    const codeAt = match.index + whole.indexOf('\n') + 1;
    const comment = /<!--((?:(?!-->)[\s\S])*)-->\s*$/.exec(before)?.[1]?.trim();
    return {
      language,
      code,
      codeAt,
      codeEnd: codeAt + code.length,
      indent,
      marks,
      comment,
      line: lineAt(text, match.index),
    };
  });
}

/** Targets of links outside of code, with their lines. */
export function linksOf(text) {
  const prose = withoutCode(text);
  return [...prose.matchAll(LINK)].map((match) => ({
    target: match[1] ?? match[2] ?? match[3],
    line: lineAt(text, match.index),
  }));
}

/** The part before the first heading of the second level, with the anchor `''`, and each part after one. */
export function sectionsOf(text) {
  const starts = [0, ...[...withoutFences(text).matchAll(/^## /gm)].map(({ index }) => index)];
  return starts.map((start, i) => {
    const part = text.slice(start, starts[i + 1]);
    return { anchor: i === 0 ? '' : slugOf(part.slice(3, part.indexOf('\n'))), text: part, line: lineAt(text, start) };
  });
}

/** The `#anchors` of a text, as GitHub and npm create them from its headings. */
export function anchorsOf(text) {
  const seen = new Map();
  const anchors = new Set([...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id]) => id));
  for (const [, heading] of withoutFences(text).matchAll(HEADING)) {
    const slug = slugOf(heading);
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    anchors.add(times === 0 ? slug : `${slug}-${times}`);
  }
  return anchors;
}

/** The anchor that GitHub creates from the text of a heading. */
export function slugOf(heading) {
  const shown = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return shown
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** Replaces every character by a space, to keep positions in the text. */
const blanked = (code) => code.replace(/[^\n]/g, ' ');

function withoutFences(text) {
  return text.replace(FENCE, blanked);
}

/** The text with every character of code replaced by a space. */
export function withoutCode(text) {
  return withoutFences(text).replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, (code) =>
    code.includes('\n\n') ? code : blanked(code),
  );
}

function lineAt(text, index) {
  return text.slice(0, index).split('\n').length;
}
