/** The text of TSDoc. */
import ts from 'typescript';

/** The description of a declaration; empty without TSDoc. */
export const docOf = (node) => textOf(ts.getJSDocCommentsAndTags(node)[0]);

/** The text of a comment or a tag, with links as code. */
export function textOf(doc) {
  const text = ts.getTextOfJSDocComment(doc?.comment) ?? '';
  return text.replace(/\{@link (\S+?)\}/g, '`$1`').trim();
}
