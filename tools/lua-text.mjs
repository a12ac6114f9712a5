/** The part of the Lua grammar that the compiler needs: where strings and comments start and end. */

const LONG_OPEN = /^\[(=*)\[/;

/** The index after the long bracket that opens at `start`, or -1 when none opens there. */
function endOfLongBracket(text, start) {
  const open = LONG_OPEN.exec(text.slice(start, start + 64));
  if (!open) return -1;
  const close = `]${open[1]}]`;
  const end = text.indexOf(close, start + open[0].length);
  if (end < 0) throw new Error(`the long bracket that opens at character ${start} is never closed`);
  return end + close.length;
}

function endOfQuoted(text, start) {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === text[start]) return at + 1;
    else if (text[at] === '\n') break;
  }
  throw new Error(`the string that opens at character ${start} is never closed`);
}

function endOfComment(text, start) {
  const long = endOfLongBracket(text, start + 2);
  if (long >= 0) return long;
  const newline = text.indexOf('\n', start);
  return newline < 0 ? text.length : newline;
}

/** The text in consecutive pieces of kind `code`, `string` and `comment`. */
export function* luaPieces(text) {
  let codeStart = 0;
  for (let at = 0; at < text.length;) {
    const comment = text.startsWith('--', at);
    const quoted = text[at] === '"' || text[at] === "'";
    const end = comment ? endOfComment(text, at) : quoted ? endOfQuoted(text, at) : endOfLongBracket(text, at);
    if (end < 0) {
      at += 1;
      continue;
    }
    if (codeStart < at) yield { kind: 'code', text: text.slice(codeStart, at) };
    yield { kind: comment ? 'comment' : 'string', text: text.slice(at, end) };
    at = codeStart = end;
  }
  if (codeStart < text.length) yield { kind: 'code', text: text.slice(codeStart) };
}

/** The same program without comments, blank lines and indentation; strings stay unchanged, also those over several lines. */
export function stripLua(text) {
  const strings = [];
  let masked = '';
  for (const piece of luaPieces(text)) {
    if (piece.kind === 'code') masked += piece.text;
    // a space, because a comment also separates the words around it
    else if (piece.kind === 'comment') masked += ' ';
    else masked += `\0${strings.push(piece.text) - 1}\0`;
  }
  const lines = masked.split('\n').map((line) => line.trim());
  const kept = lines.filter((line) => line !== '').join('\n');
  return kept.replace(/\0(\d+)\0/g, (_, index) => strings[Number(index)]);
}

/** Only the code, because names in strings and comments are not uses. */
export function luaCode(text) {
  let code = '';
  for (const piece of luaPieces(text)) code += piece.kind === 'code' ? piece.text : ' ';
  return code;
}
