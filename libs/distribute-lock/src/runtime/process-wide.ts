/**
 * What all copies of this package in a process share. An application may load two: one by `import`, one by `require`.
 *
 * Whoever changes the shape of what lies behind a name gives it another name: the copies may be of different versions.
 */
export function processWide<T extends object>(name: string, make: () => T): T {
  const place = Symbol.for(`nestjs-distribute-lock: ${name}`);
  const shared = globalThis as { [place]?: T };
  return (shared[place] ??= make());
}

type Class = abstract new (...args: never[]) => unknown;

const copies = processWide('copies of classes', () => new Map<string, Set<Class>>());

/** Says that users may inject `type`, so that the module of another copy provides it, too. `name` outlives minifying. */
export function knownAs(name: string, type: Class): void {
  const known = copies.get(name) ?? new Set();
  copies.set(name, known.add(type));
}

/** The class of that name in every copy that was loaded. */
export function copiesOf(name: string): readonly Class[] {
  return [...(copies.get(name) ?? [])];
}
