/** The rules for prose, applied to the sentences that retext finds. */
import retextEnglish from 'retext-english';
import { unified } from 'unified';
import { luaTexts } from './lua-texts.mjs';
import { markdownTexts } from './markdown-texts.mjs';
import { phrases } from './phrases.mjs';
import { plain, plainComment } from './plain.mjs';
import { typescriptTexts } from './typescript-texts.mjs';

const MOST_WORDS = 30;
const LINE_BREAK = /\s*\n\s*(?:\*|\/\/|--)?\s*/g;
const parser = unified().use(retextEnglish).freeze();

/** The faults of a file: rule, line, and the sentence as it is written. */
export function proseFaults(name, source) {
  const texts = textsOf(name, source);
  return texts.flatMap(({ kind, offset, text }) => {
    const prose = kind === 'comment' ? plainComment(text) : plain(text);
    return sentencesOf(parser.parse(prose)).flatMap(({ position: { start, end } }) => {
      const [from, to] = [offset + start.offset, offset + end.offset];
      const line = source.slice(0, from).split('\n').length;
      const sentence = source.slice(from, to).replace(LINE_BREAK, ' ');
      return rulesBrokenBy(prose.slice(start.offset, end.offset)).map((rule) => ({ line, rule, sentence }));
    });
  });
}

function textsOf(name, source) {
  if (name.endsWith('.md')) return markdownTexts(source);
  return name.endsWith('.lua') ? luaTexts(source) : typescriptTexts(name, source);
}

const sentencesOf = (node) =>
  node.type === 'SentenceNode' ? [node] : (node.children ?? []).flatMap((child) => sentencesOf(child));

function rulesBrokenBy(sentence) {
  const text = sentence.replace(/\s+/g, ' ');
  const broken = phrases.flatMap(({ rule, found, instead }) => {
    const hits = text.match(found);
    return hits ? [`${rule}: "${hits.join('", "')}" (${instead})`] : [];
  });
  for (const clause of text.split(/[.:;!?] /)) {
    const words = clause.match(/[\w'-]+/g)?.length ?? 0;
    if (words > MOST_WORDS) broken.push(`length: ${words} words (at most ${MOST_WORDS})`);
  }
  return broken;
}
