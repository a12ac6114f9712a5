import { luaPieces } from '../lua-text.mjs';

/** Words that Lua or Redis defines, and the settings, which the store replaces by their text. */
const GIVEN = new Set([
  ...['and', 'break', 'do', 'else', 'elseif', 'end', 'false', 'for', 'function', 'if', 'in', 'local', 'nil', 'not'],
  ...['or', 'repeat', 'return', 'then', 'true', 'until', 'while'],
  ...['KEYS', 'ARGV', 'redis', 'call', 'pcall', 'err', 'ok', 'error', 'type', 'tonumber', 'tostring', 'unpack'],
  ...['string', 'sub', 'find', 'match', 'gmatch', 'format', 'math', 'floor', 'max', 'min'],
  ...['table', 'concat', 'remove', 'insert', 'pairs', 'ipairs'],
  ...['counted', 'sharded', 'fenceMs'],
]);
const WORD = /(?<!\w)[A-Za-z_]\w*/g;

/**
 * Returns a function that replaces each name by a short one. A name has the same short name in all scripts, so a function that
 * two scripts share stays the same text.
 */
export function shortenerOf(scripts) {
  const counts = new Map();
  for (const name of scripts.flatMap(namesIn)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const byUse = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const names = shortNames();
  const short = new Map(byUse.map(([name]) => [name, names.next().value]));
  return (lua) => inCode(lua, (word) => short.get(word) ?? word);
}

function namesIn(lua) {
  const found = [];
  inCode(lua, (word) => (GIVEN.has(word) ? word : found.push(word)));
  return found;
}

/** Replaces the words outside strings. */
const inCode = (lua, replace) =>
  [...luaPieces(lua)].map(({ kind, text }) => (kind === 'code' ? text.replace(WORD, replace) : text)).join('');

const LETTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];

function* shortNames() {
  yield* LETTERS;
  for (const first of LETTERS) {
    for (const last of LETTERS) if (!GIVEN.has(first + last)) yield first + last;
  }
}
