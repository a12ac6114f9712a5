/**
 * State that all copies of this package in a process share. An application may load two copies: one by `import`, one by
 * `require`.
 *
 * A change to the shape of a shared value needs a new name, because the copies may have different versions.
 */
export function processWide<T extends object>(name: string, make: () => T): T {
  const symbol = Symbol.for(`nestjs-distribute-lock: ${name}`);
  const globals = globalThis as { [symbol]?: T };
  return (globals[symbol] ??= make());
}

type Class = abstract new (...args: never[]) => unknown;

const copies = processWide('copies of classes', () => new Map<string, Set<Class>>());

/** Registers an injectable `type`, so that the module of another copy provides it, too. `name` survives minification. */
export function knownAs(name: string, type: Class): void {
  const known = copies.get(name) ?? new Set();
  copies.set(name, known.add(type));
}

/** The class of that name in every loaded copy. */
export function copiesOf(name: string): readonly Class[] {
  return [...(copies.get(name) ?? [])];
}
