const SHORT_FUNCTION = /^ *local function (\w+)\(([^)]*)\)\n +return ([^\n]*[^\n,({])\n *end\n/m;

/** Adds the functions of `host.lua` that a script uses. The expression of a short function replaces its calls. */
export function withPatterns(lua, host) {
  const [, ...functions] = host.split(/^(?=function )/m);
  const used = functions.filter((text) => new RegExp(`\\b${/^function (\w+)/.exec(text)[1]}\\(`).test(lua));
  return withShortFunctions(used.map((text) => `local ${text.trimEnd()}\n`).join('') + lua);
}

function withShortFunctions(lua) {
  let script = lua;
  let from = 0;
  for (let found = SHORT_FUNCTION.exec(script); found; found = SHORT_FUNCTION.exec(script.slice(from))) {
    const [text, name, list, expression] = found;
    const at = from + found.index;
    const parameters = list === '' ? [] : list.split(', ');
    const isValue = new RegExp(`\\b${name}\\b(?!\\()`).test(script.slice(at + text.length));
    if (isValue || parameters.some((each) => occurs(each, expression) !== 1)) from = at + text.length;
    else
      script = withExpression(script.slice(0, at) + script.slice(at + text.length), name, { parameters, expression });
  }
  return script;
}

const occurs = (name, text) => text.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0;

/** Replaces the calls of a function by its expression. */
function withExpression(lua, name, { parameters, expression }) {
  const call = new RegExp(`(?<![\\w.])${name}\\(`, 'g');
  let script = lua;
  for (let found = call.exec(script); found; found = call.exec(script)) {
    const { values, end } = valuesOfCall(script, found.index + found[0].length);
    const put = expression.replace(/\b\w+\b/g, (word) => {
      const i = parameters.indexOf(word);
      return i < 0 ? word : grouped(values[i]);
    });
    script = script.slice(0, found.index) + grouped(put) + script.slice(end);
    call.lastIndex = found.index;
  }
  return script;
}

/** The text of a value inside a larger expression. */
const grouped = (value) => (isAtom(value) || isCall(value) ? value : `(${value})`);

const isAtom = (value) => /^[\w.]+(?:\[[^\]]+\])?$|^"[^"]*"$/.test(value);

/** Whether the text is one call, and no operator stands outside its parentheses. */
function isCall(text) {
  const start = /^[\w.]+\(/.exec(text);
  return start !== null && valuesOfCall(text, start[0].length).end === text.length;
}

/** The values of a call whose first one starts at `start`, and the index behind the call. */
export function valuesOfCall(lua, start) {
  const values = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < lua.length; at += 1) {
    const character = lua[at];
    if (character === '"' || character === "'") at = lua.indexOf(character, at + 1);
    else if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth -= 1;
    const isEnd = depth < 0;
    if (!isEnd && (character !== ',' || depth > 0)) continue;
    const value = lua.slice(from, at).trim();
    if (value !== '') values.push(value);
    if (isEnd) return { values, end: at + 1 };
    from = at + 1;
  }
  throw new Error('a call has no end');
}

/** A variable, a field or an element. */
const SIMPLE = String.raw`[\w.]+(?:\[[^[\]]+\])?`;

/** Arithmetic and `math.floor` convert a text to a number themselves. */
export function ownConversion(lua) {
  return lua
    .replace(new RegExp(String.raw`\btonumber\((${SIMPLE})\)(?= [-+*/] )`, 'g'), '$1')
    .replace(new RegExp(String.raw`(?<=\w [-+*/] )tonumber\((${SIMPLE})\)`, 'g'), '$1')
    .replace(new RegExp(String.raw`\bmath\.floor\(tonumber\((${SIMPLE})\)\)`, 'g'), 'math.floor($1)');
}
