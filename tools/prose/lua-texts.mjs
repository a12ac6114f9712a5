/** Comments of a Lua script. */
import { luaPieces } from '../lua-text.mjs';

/** Each comment with its offset in the file; consecutive comment lines are one text. */
export function luaTexts(source) {
  const texts = [];
  let offset = 0;
  for (const { kind, text } of luaPieces(source)) {
    const last = texts.at(-1);
    const gap = last && source.slice(last.offset + last.text.length, offset);
    if (kind !== 'comment') offset += text.length;
    else {
      if (last && /^\n[^\S\n]*$/.test(gap)) last.text += gap + text;
      else texts.push({ kind: 'comment', offset, text });
      offset += text.length;
    }
  }
  return texts;
}
