const DECLARATION = /^( *)local function (\w+)\(([\w, ]*)\)$/;

/**
 * Puts the statements of a function in place of its call, if this is the only call and the next statement. Redis then
 * creates no function.
 */
export function inlined(lua) {
  const lines = lua.split('\n');
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const [, indent, name, parameters] = DECLARATION.exec(lines[at]) ?? [];
    if (name === undefined || usesOf(name, lua) !== 2) continue;
    const end = lines.indexOf(`${indent}end`, at);
    const call = new RegExp(`^${indent}(return |local (\\w+) = |)${name}\\((.*)\\)$`).exec(lines[end + 1] ?? '');
    const statements = call && inPlace(call, lines.slice(at + 1, end), indent);
    if (!statements) continue;
    const [, , variable, values] = call;
    const block = [`${indent}do`, ...parametersOf(parameters, values, indent), ...statements, `${indent}end`];
    lines.splice(at, end + 2 - at, ...(variable ? [`${indent}local ${variable}`] : []), ...block);
  }
  return lines.join('\n');
}

const usesOf = (name, lua) => lua.match(new RegExp(`\\b${name}\\b`, 'g')).length;

/** The statements of a function as those of a block; undefined if it may return before its end. */
function inPlace([, kind, variable, values], body, indent) {
  const last = body.at(-1).startsWith(`${indent}    return `) ? body.at(-1) : undefined;
  if (kind === 'return ') return last && body;
  const others = last === undefined ? body : body.slice(0, -1);
  if (others.some((line) => /\breturn\b/.test(line))) return undefined;
  if (variable === undefined) return last === undefined ? body : undefined;
  const isFree = last !== undefined && ![values, ...body].some((line) => new RegExp(`\\b${variable}\\b`).test(line));
  return isFree ? [...others, last.replace('return ', `${variable} = `)] : undefined;
}

/** The parameters as variables of the block. */
function parametersOf(parameters, values, indent) {
  if (parameters === values) return [];
  return [`${indent}    local ${parameters}${values === '' ? '' : ` = ${values}`}`];
}
