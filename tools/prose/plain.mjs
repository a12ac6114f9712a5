/** A comment as plain text of the same length: code is one word, and every tag, list item and table row a paragraph. */

const DIRECTIVE = /^\s*(?:oxlint-|@ts-|@include|prettier-|c8 |#region|#endregion|!)/;

const spaces = (text) => text.replace(/[^\n]/g, ' ');
/** Begins with a capital letter, because it may begin a sentence. */
const word = (text) => `X${'x'.repeat(text.length - 1)}`;

export function plainComment(comment) {
  const bare = comment.replace(/^[^\S\n]*(?:\/\*+|\/\/|--\[\[|--|\*(?!\/))/gm, spaces).replace(/\*\/|\]\]$/g, spaces);
  if (DIRECTIVE.test(bare)) return spaces(comment);
  return plain(bare.replace(/@example[\s\S]*?(?=\n\s*@\w|$)/g, spaces));
}

export const plain = (text) =>
  text
    .replace(/```[\s\S]*?(?:```|$)/g, spaces)
    .replace(/`[^`\n]*`|\{@\w+[^}]*\}|https?:\S+/g, word)
    // a blank line in place of the first spaces of the line
    .replace(/\n[^\S\n](?=[^\S\n]*(?:[-*|@]|\d+\.\s|\S[^\n]*\S {2,}\S))/g, '\n\n')
    .replace(/[|*]/g, ' ');
