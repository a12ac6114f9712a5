import ts from 'typescript';
import { references } from './bundle.mjs';

/**
 * Arranges the pieces of a bundle as one text. Redis creates each function of a script anew for every call. So a function
 * is declared inside the only one that leads to it, before the first statement that uses it. It costs nothing unless the script
 * gets there. Variables come first.
 */
export function nested(pieces) {
  const holders = holdersOf(pieces);
  // The map has each piece after the pieces that it uses, and so do these lists.
  /** @type {Map<string | undefined, string[]>} */
  const inside = new Map([...pieces.keys(), undefined].map((name) => [name, []]));
  for (const name of pieces.keys()) inside.get(holders.get(name)).push(name);
  const isVariable = (name) => !pieces.get(name).isFunction;
  const top = inside.get(undefined);
  return [...top.filter(isVariable), ...top.filter((name) => !isVariable(name))].map(textOf).join('\n');

  function textOf(name) {
    const { statement, replaced } = pieces.get(name);
    return edited(statement, [...declarationsIn(name), ...replaced]).replace(/^export /, '');
  }

  /** The declarations to add to a function. */
  function declarationsIn(holder) {
    refuseHidden(holder);
    let missing = inside.get(holder);
    if (missing.length === 0) return [];
    return pieces.get(holder).statement.body.statements.flatMap((statement) => {
      const used = new Set(references(statement).map(({ text }) => text));
      const declared = new Set();
      for (const name of missing.toReversed()) {
        if (used.has(name) || [...declared].some((user) => leadsTo(user, name))) declared.add(name);
      }
      missing = missing.filter((name) => !declared.has(name));
      const start = statement.getStart();
      return [...declared].toReversed().map((name) => ({ start, end: start, value: `${textOf(name)}\n` }));
    });
  }

  /** A variable of a function must not hide what a function that is declared in it uses. */
  function refuseHidden(holder) {
    const own = variablesOf(pieces.get(holder).statement);
    for (const name of inside.get(holder)) {
      const hidden = own.find((each) => leadsTo(name, each));
      if (hidden) throw new Error(`${holder} has a variable ${hidden}, and ${name} uses another one: rename it`);
    }
  }

  /** Whether a function, or one that is declared inside it, uses `name`. */
  function leadsTo(user, name) {
    return pieces.get(user).uses.has(name) || inside.get(user).some((each) => leadsTo(each, name));
  }
}

/** The names of the variables and parameters of a function. */
function variablesOf(statement) {
  const found = [];
  visit(statement);
  return found;

  function visit(node) {
    const isVariable = ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node);
    if (isVariable) found.push(node.name.getText());
    node.forEachChild(visit);
  }
}

/**
 * The function in which each function is declared; undefined for the script itself. A function that a loop uses declares no
 * others, because it would create them in each round.
 */
function holdersOf(pieces) {
  const users = new Map([...pieces.keys()].map((name) => [name, []]));
  for (const [name, { uses }] of pieces) for (const used of uses) users.get(used).push(name);
  const repeated = new Set([...pieces.values()].flatMap(({ statement }) => (statement ? usedInLoops(statement) : [])));
  const mayHold = (name) => ts.isFunctionDeclaration(pieces.get(name).statement) && !repeated.has(name);
  const ways = new Map();
  const holders = new Map();
  // Here each piece comes after its users.
  for (const name of [...pieces.keys()].toReversed()) {
    const way = users.get(name).map((user) => ways.get(user).concat(user));
    ways.set(name, way.length === 0 ? [] : way.reduce(commonStart));
    const holder = ways.get(name).findLast(mayHold);
    holders.set(name, pieces.get(name).isFunction ? holder : undefined);
  }
  return holders;
}

function usedInLoops(node) {
  if (ts.isIterationStatement(node, false)) return references(node.statement).map(({ text }) => text);
  const found = [];
  node.forEachChild((child) => void found.push(...usedInLoops(child)));
  return found;
}

function commonStart(one, other) {
  const end = one.findIndex((name, i) => name !== other[i]);
  return end < 0 ? one : one.slice(0, end);
}

/** The text of a declaration after replacements and insertions. */
function edited(statement, edits) {
  const source = statement.getSourceFile().text;
  let text = '';
  let at = statement.getStart();
  for (const { start, end, value } of edits.toSorted((one, other) => one.start - other.start)) {
    text += source.slice(at, start) + value;
    at = end;
  }
  return text + source.slice(at, statement.end);
}
