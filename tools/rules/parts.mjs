/** A shorter function costs less than the name of a part. */
const SHORTEST_PART = 200;
const FUNCTION = /^( *)local function (\w+)\([^]*?\n\1end\n/gm;

/**
 * Finds the functions that occur in several scripts, or several times in one.
 * @param scripts - indented Lua
 * @param textOf - the text of a script, or of a function, in the module
 * @returns the parts, each after the parts that it contains; and the scripts with `${name}` in place of each part
 */
export function sharedParts(scripts, textOf) {
  const parts = [];
  let texts = scripts.map(textOf);
  for (const [text, name] of functionsIn(scripts, textOf)) {
    const all = [...texts, ...parts.map((part) => part.text)];
    const uses = all.reduce((sum, each) => sum + each.split(text).length - 1, 0);
    if (uses < 2 || text.length < SHORTEST_PART) continue;
    const number = parts.filter((part) => part.function === name).length + 1;
    const part = `${name}Part${number > 1 ? number : ''}`;
    const withPart = (each) => each.replaceAll(text, () => `\${${part}}`);
    texts = texts.map(withPart);
    for (const other of parts) other.text = withPart(other.text);
    parts.push({ name: part, function: name, text });
  }
  return { parts: parts.toReversed(), texts };
}

/** The text and the name of each function, the longest first. */
function functionsIn(scripts, textOf) {
  const found = new Map();
  for (const script of scripts) collect(script, found, textOf);
  return [...found].sort(([one], [other]) => other.length - one.length);
}

function collect(lua, found, textOf) {
  for (const [text, , name] of lua.matchAll(FUNCTION)) {
    found.set(`${textOf(text)}\n`, name);
    collect(text.slice(text.indexOf('\n') + 1), found, textOf);
  }
}
