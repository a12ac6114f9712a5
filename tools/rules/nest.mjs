import { wordsOf } from './pieces.mjs';

/** A statement of a function begins in a line of this indentation. */
const STATEMENT = /\n(?= {4}(?!end\b|else|until\b)\S)/;
const LOOP = /^( *)(?:for|while) .* do\n([^]*?)\n\1end$/gm;

/**
 * The script of a rule, with all that it uses. Redis creates each function of a script anew for every call. So a function is
 * declared inside the only one that leads to it, before the first statement that uses it. It costs nothing unless the script
 * gets there. Variables come first.
 */
export function nested(all, entry) {
  const pieces = new Map();
  include(entry);
  const holders = holdersOf(pieces);
  const isFunction = (name) => pieces.get(name).isFunction;
  const variables = [...pieces.keys()].filter((name) => !isFunction(name));
  return `${variables.map(textOf).join('')}${bodyOf(entry)}`;

  /** Adds a piece behind the pieces that it uses. */
  function include(name) {
    if (pieces.has(name)) return;
    all.get(name).uses.forEach(include);
    pieces.set(name, all.get(name));
  }

  function textOf(name) {
    const { text } = pieces.get(name);
    if (!isFunction(name)) return `local ${name}${text}\n`;
    return `local function ${name}${text.slice(0, text.indexOf('\n') + 1)}${bodyOf(name)}end\n`;
  }

  /** The statements of a function, and the declarations of the functions that it holds. */
  function bodyOf(holder) {
    const { text } = pieces.get(holder);
    let missing = [...pieces.keys()].filter((name) => isFunction(name) && holders.get(name) === holder);
    const statements = text.slice(text.indexOf('\n') + 1, -1).split(STATEMENT);
    const parts = statements.map((statement) => {
      const used = new Set(wordsOf(statement));
      const declared = new Set();
      for (const name of missing.toReversed()) {
        if (used.has(name) || [...declared].some((user) => leadsTo(user, name))) declared.add(name);
      }
      missing = missing.filter((name) => !declared.has(name));
      return `${[...declared].toReversed().map(textOf).join('')}${statement}\n`;
    });
    return parts.join('');
  }

  /** Whether a function, or one that is declared inside it, uses `name`. */
  function leadsTo(user, name) {
    const inside = [...pieces.keys()].filter((each) => holders.get(each) === user);
    return pieces.get(user).uses.has(name) || inside.some((each) => leadsTo(each, name));
  }
}

/**
 * The function in which each function is declared; undefined for the rule. A function that a loop uses declares no others,
 * because it would create them in each round.
 */
function holdersOf(pieces) {
  const loops = [...pieces.values()].flatMap(({ text }) => [...text.matchAll(LOOP)].map(([, , body]) => body));
  const repeated = new Set(loops.flatMap(wordsOf));
  const ways = new Map();
  const holders = new Map();
  // Here each piece comes after its users.
  for (const name of [...pieces.keys()].toReversed()) {
    const users = [...pieces.keys()].filter((user) => pieces.get(user).uses.has(name));
    const way = users.map((user) => ways.get(user).concat(user));
    ways.set(name, way.length === 0 ? [] : way.reduce(commonStart));
    holders.set(
      name,
      ways.get(name).findLast((user) => pieces.get(user).isFunction && !repeated.has(user)),
    );
  }
  return holders;
}

function commonStart(one, other) {
  const end = one.findIndex((name, i) => name !== other[i]);
  return end < 0 ? one : one.slice(0, end);
}
