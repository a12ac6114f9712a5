/** A variable, a field or an element. */
const SIMPLE = String.raw`[\w.]+(?:\[[^[\]]+\])?`;

/** A script that does the same in less time: as a loop or an expression is written in Lua. */
export const simplified = (lua) =>
  [numericFor, localParts, ownConversion, constantSums].reduce((script, of) => of(script), lua);

/** A list of values is in one line. */
export const joinedLines = (lua) => lua.replace(/(?<=[({])\n +|\n +(?=[)}])/g, '').replace(/,\n +/g, ', ');

/** `for (let i = 0; i < end; i += 1)` is a numeric `for` in Lua. `end` must be the same in each round. */
function numericFor(lua) {
  const loop =
    /^( *)do\n\1 {4}local (\w+) = (\d+)\n\1 {4}while \2 < (.+) do\n([^]*?)\n\1 {8}\2 = \2 \+ (\d+)\n\1 {4}end\n\1end$/gm;
  return lua.replace(loop, (text, indent, name, start, end, body, step) => {
    if (new RegExp(`\\b${name} = `).test(body)) return text;
    const range = `${start}, ${end} - 1${step === '1' ? '' : `, ${step}`}`;
    return `${indent}for ${name} = ${range} do\n${simpleFor(body)}\n${indent}end`;
  });

  function simpleFor(body) {
    return numericFor(body.replaceAll('\n    ', '\n').replace(/^ {4}/, ''));
  }
}

/** The parts of a parameter are variables with a value from the start. */
function localParts(lua) {
  const parts = /(?:^ *local \w+\n)+((?:^ *\w+ = ____bindingPattern\d+\.\w+\n)+)/gm;
  return lua.replace(parts, (_, values) => values.replace(/^ *(?=\w)/gm, '$&local '));
}

/** Arithmetic and `math.floor` convert a text to a number themselves. */
function ownConversion(lua) {
  return lua
    .replace(new RegExp(String.raw`\btonumber\((${SIMPLE})\)(?= [-+*/] )`, 'g'), '$1')
    .replace(new RegExp(String.raw`(?<=\w [-+*/] )tonumber\((${SIMPLE})\)`, 'g'), '$1')
    .replace(new RegExp(String.raw`\bmath\.floor\(tonumber\((${SIMPLE})\)\)`, 'g'), 'math.floor($1)');
}

/** The index of an array starts with 1. */
function constantSums(lua) {
  return lua.replace(/ \+ (\d+) \+ (\d+)(?=[\],)])/g, (_, one, other) => ` + ${Number(one) + Number(other)}`);
}
