import { runInNewContext } from 'node:vm';
import { luaCode } from '../lua-text.mjs';
import { valuesOfCall } from './patterns.mjs';

const FUNCTION = /^(?:local )?(?:function (\w+)|(\w+) = function)(\(.*\)\n[^]*?\n)end\n/gm;
const SHORT_FUNCTION = /^(?:local )?(\w+) = function(\(.*?\)) (.*) end$/gm;
const VARIABLE = /^(?:local )?(\w+) = (.*)\n/gm;
const VARIABLES = /^local ((?:\w+, )*\w+)\n/gm;
/** What is declared inside a function, and its parameters. */
const OWN = /\blocal (?:function )?([\w, ]+)|\bfor ([\w, ]+?) (?:in|=)|^\(([\w, ]*)\)/gm;
const CALL = /\bredis\.p?call\(/g;
/** An expression of numbers. */
const NUMERIC = /^[-\d.^ *()]+$/;
const LITERAL = /^(?:"[^"]*"|[-\d.^ *()]+)$/;

/**
 * Cuts compiled rules into their declarations, by name. Each has its text, and the names that it uses. Constants have
 * their values in each text.
 */
export function piecesOf(lua) {
  const constants = new Map();
  const pieces = new Map();
  const inLines = lua.replace(SHORT_FUNCTION, 'function $1$2\n    $3\nend');
  const withoutFunctions = inLines.replace(FUNCTION, (_, name, other, text) => {
    pieces.set(name ?? other, { isFunction: true, text });
    return '';
  });
  const unset = withoutFunctions.replace(VARIABLE, (_, name, text) => {
    const value = withValues(text, constants);
    if (/^[A-Z][A-Z_]+$/.test(name) && LITERAL.test(value)) constants.set(name, valueOf(value));
    else pieces.set(name, { isFunction: false, text: ` = ${value}` });
    return '';
  });
  for (const name of [...unset.matchAll(VARIABLES)].flatMap(([, names]) => names.split(', '))) {
    if (!constants.has(name) && !pieces.has(name)) pieces.set(name, { isFunction: false, text: '' });
  }
  for (const [name, piece] of pieces) {
    piece.text = numbersAsTexts(withValues(piece.text, constants));
    piece.uses = new Set(wordsOf(piece.text).filter((word) => word !== name && pieces.has(word)));
    const own = [...luaCode(piece.text).matchAll(OWN)].flatMap((found) => found.slice(1).join('').split(/[, ]+/));
    const hidden = piece.isFunction && own.find((each) => pieces.has(each));
    if (hidden) throw new Error(`${name} has a variable ${hidden}, and the rules have another one: rename it`);
  }
  return { pieces, constants };
}

/** The names that Lua code uses, without those of fields. */
export const wordsOf = (lua) => luaCode(lua).match(/(?<![.\w])[A-Za-z_]\w*/g) ?? [];

/** Writes constants as their values. */
export const withValues = (lua, constants) => lua.replace(/\b[A-Z][A-Z_]+\b/g, (name) => constants.get(name) ?? name);

const valueOf = (lua) =>
  NUMERIC.test(lua) ? String(runInNewContext(lua.replace(/(\d+) \^ (\d+)/g, '($1 ** $2)'))) : lua;

/** Constant numbers in a command of Redis become texts, because Redis formats each number slowly. */
function numbersAsTexts(lua) {
  let script = lua;
  for (const { index, 0: call } of [...lua.matchAll(CALL)].toReversed()) {
    const start = index + call.length;
    const { values, end } = valuesOfCall(script, start);
    const texts = values.map((value) => (NUMERIC.test(value) ? `"${valueOf(value)}"` : value));
    script = `${script.slice(0, start)}${texts.join(', ')})${script.slice(end)}`;
  }
  return script;
}
