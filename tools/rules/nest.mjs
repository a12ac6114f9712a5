/**
 * Arranges the pieces of a bundle as one text. Redis creates each function of a script anew for every call, so a function
 * is declared inside the only one that leads to it: it costs nothing unless that one runs. Variables come first.
 */
export function nested(pieces, entry) {
  const holders = holdersOf(pieces, entry);
  const inside = new Map([...pieces.keys(), undefined].map((name) => [name, []]));
  for (const [name, holder] of holders) inside.get(holder).unshift(name);
  const textOf = (name) => {
    const { head, text } = pieces.get(name);
    return head === undefined ? text : `${head}\n${textsIn(name)}${text}`;
  };
  const textsIn = (holder) =>
    inside
      .get(holder)
      .map((name) => `${textOf(name)}\n`)
      .join('');
  const top = inside.get(undefined);
  const isVariable = (name) => !pieces.get(name).isFunction;
  return [...top.filter(isVariable), ...top.filter((name) => !isVariable(name))].map(textOf).join('\n');
}

/** The function in which each function is declared; undefined for the script itself. */
function holdersOf(pieces, entry) {
  const users = new Map([...pieces.keys()].map((name) => [name, []]));
  for (const [name, { uses }] of pieces) for (const used of uses) users.get(used).push(name);
  const ways = new Map();
  const holders = new Map();
  // The map has each piece after the pieces that it uses. So here each one comes after its users.
  for (const name of [...pieces.keys()].toReversed()) {
    const way = users.get(name).map((user) => ways.get(user).concat(user));
    ways.set(name, way.length === 0 ? [] : way.reduce(commonStart));
    const holder = ways.get(name).findLast((each) => each !== entry && pieces.get(each).head !== undefined);
    holders.set(name, pieces.get(name).isFunction ? holder : undefined);
  }
  return holders;
}

function commonStart(one, other) {
  const end = one.findIndex((name, i) => name !== other[i]);
  return end < 0 ? one : one.slice(0, end);
}
