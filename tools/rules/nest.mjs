import ts from 'typescript';
import { references } from './bundle.mjs';

/**
 * Arranges the pieces of a bundle as one text. Redis creates each function of a script anew for every call. So a function
 * is declared inside the only one that leads to it, before the first statement of the block that uses it. It costs nothing
 * unless the script gets there. Variables come first.
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
    const { statement, replaced, text } = pieces.get(name);
    return text ?? edited(statement, [...declarationsIn(name), ...replaced]).replace(/^export /, '');
  }

  /** The declarations to add to a function. */
  function declarationsIn(holder) {
    const places = new Map();
    const edits = [];
    refuseHidden(holder);
    for (const name of inside.get(holder).toReversed()) {
      const uses = references(pieces.get(holder).statement).filter((node) => node.text === name);
      const users = [...places].filter(([user]) => leadsTo(user, name)).map(([, blocks]) => blocks);
      const blocks = [...uses.map(blocksAround), ...users].reduce(commonBlocks);
      places.set(name, blocks);
      edits.unshift(insertion(blocks.at(-1).before.getStart(), `${textOf(name)}\n`));
    }
    for (const statement of new Set([...places.values()].map((blocks) => blocks.at(-1).block))) {
      if (ts.isBlock(statement)) continue;
      edits.unshift(insertion(statement.getStart(), '{ '));
      edits.push(insertion(statement.end, ' }'));
    }
    return edits;
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

/**
 * The blocks of a function around a node, each with its statement that has the node, from the outside. A block that runs
 * more than once in a call of the function does not count. A statement without braces counts as its own block.
 */
function blocksAround(node) {
  let blocks = [];
  let isOver = false;
  for (let at = node; !isOver; at = at.parent) {
    const { parent } = at;
    const isBranch = ts.isIfStatement(parent) && at !== parent.expression && !ts.isIfStatement(at);
    if (ts.isBlock(parent)) blocks.unshift({ block: parent, before: at });
    else if (isBranch && !ts.isBlock(at)) blocks.unshift({ block: at, before: at });
    else if (ts.isIterationStatement(parent, false) || ts.isArrowFunction(parent)) blocks = [];
    isOver = ts.isFunctionDeclaration(parent);
  }
  return blocks;
}

function commonBlocks(one, other) {
  const common = one.filter(({ block }, i) => block === other[i]?.block);
  const last = common.length - 1;
  const [first] = [one[last], other[last]].toSorted((each, next) => each.before.pos - next.before.pos);
  return [...common.slice(0, last), first];
}

const insertion = (at, value) => ({ start: at, end: at, value });

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
