import { luaCode } from './lua-text.mjs';

const HEADER = /^\s*--\[\[([\s\S]*?)\]\]/;
const TABLES = [
  { table: 'KEYS', tag: '@key' },
  { table: 'ARGV', tag: '@arg' },
];

/** Throws when a script uses more keys or arguments than its header declares. */
export function checkContract(source, body) {
  const header = HEADER.exec(source)?.[1];
  if (header === undefined) throw new Error('has no header: the file must begin with a --[[ ... ]] block');
  if (!/^\s*@returns\b/m.test(header)) throw new Error('its header does not say what it @returns');
  const code = luaCode(body);
  for (const { table, tag } of TABLES) checkTable(code, table, tag, declared(header, tag));
}

/** `names`: the declared names in order; `repeatsFrom`: the index from which a group repeats, or Infinity. */
function declared(header, tag) {
  const lines = [...header.matchAll(new RegExp(`^\\s*${tag}\\s+([A-Za-z_]\\w*)(\\.\\.\\.)?`, 'gm'))];
  const first = lines.findIndex(([, , dots]) => dots !== undefined);
  return { count: lines.length, repeatsFrom: first < 0 ? Infinity : first + 1 };
}

function checkTable(code, table, tag, { count, repeatsFrom }) {
  for (const [use, index] of code.matchAll(new RegExp(`\\b${table}\\s*\\[\\s*([^\\]]*?)\\s*\\]`, 'g'))) {
    if (!/^\d+$/.test(index)) {
      if (repeatsFrom !== Infinity) continue;
      throw new Error(`uses ${use}, but its header declares no repeated group (${tag} name...)`);
    }
    const at = Number(index);
    if (at >= 1 && (at <= count || at >= repeatsFrom)) continue;
    throw new Error(`uses ${use}, but its header declares ${count} ${tag}`);
  }
}
