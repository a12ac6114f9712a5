/** The numbers of the protocol: store/protocol.ts defines each once, and the scripts use them by name. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { luaPieces } from './lua-text.mjs';

const DEFINITION = /^export const ([A-Z]\w*) = ([\d_]+);$/gm;
const IN_LUA = /\bPROTOCOL\.(\w+)/g;
/** A duration of a script with a number, such as `local claimMs = '1750'`. */
const SPELLED_DURATION = /\b(\w*(?:Ms|_MS))\s*=\s*'?\d/;
const LARGE_NUMBER = /(?<![\w.])\d{4,}(?![\w.])/g;
const CONSTANT = /\bconst ([A-Z]\w*)\b[^=\n]*=/g;

/** The numbers by name; none if the scripts in `folder` are not those of the library. */
export function readProtocolNumbers(folder) {
  const file = join(folder, '..', 'protocol.ts');
  if (!existsSync(file)) return {};
  const found = [...readFileSync(file, 'utf8').matchAll(DEFINITION)];
  return Object.fromEntries(found.map(([, name, digits]) => [name, Number(digits.replaceAll('_', ''))]));
}

/** A script with numbers instead of their names. A name in a string becomes text, as arguments of Redis commands are. */
export function withProtocolNumbers(lua, numbers) {
  const numbered = (text) =>
    text.replace(IN_LUA, (_, name) => {
      if (numbers[name] === undefined)
        throw new Error(`uses PROTOCOL.${name}, which store/protocol.ts does not define`);
      return numbers[name];
    });
  return [...luaPieces(lua)].map(({ kind, text }) => (kind === 'comment' ? text : numbered(text))).join('');
}

/** Throws when a Lua file gives a duration a number, or spells a duration of the protocol. */
export function checkLuaNumbers(source, numbers) {
  const text = [...luaPieces(source)].map((piece) => (piece.kind === 'comment' ? ' ' : piece.text)).join('');
  const duration = SPELLED_DURATION.exec(text)?.[1];
  if (duration !== undefined) throw new Error(`gives ${duration} a number: define it in store/protocol.ts`);
  for (const [digits] of text.matchAll(LARGE_NUMBER)) {
    const name = Object.keys(numbers).find((key) => key.endsWith('_MS') && numbers[key] === Number(digits));
    if (name !== undefined) throw new Error(`spells ${digits}: use PROTOCOL.${name}`);
  }
}

/** Throws when a TypeScript file other than store/protocol.ts defines one of the names. */
export function checkTypeScriptNumbers(source, numbers) {
  for (const [, name] of source.matchAll(CONSTANT))
    if (numbers[name] !== undefined) throw new Error(`defines ${name} a second time: import it from store/protocol.ts`);
}
