import type { DynamicModule } from '@nestjs/common';

/** Weak, because the classes that import a module keep it. */
const modules = new Set<WeakRef<DynamicModule>>();
const optionsOf = new WeakMap<DynamicModule, unknown>();

/** Returns the module that was made with equal options, if any, because Nest recognizes the same module by its identity. */
export function sameModule(options: unknown, make: () => DynamicModule): DynamicModule {
  for (const ref of modules) {
    const known = ref.deref();
    if (known === undefined) modules.delete(ref);
    else if (isEqual(optionsOf.get(known), options)) return known;
  }
  const module = make();
  optionsOf.set(module, options);
  modules.add(new WeakRef(module));
  return module;
}

/** Compares plain objects and arrays by their contents, and all other values by identity, such as clients and functions. */
function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (!isPlain(one) || !isPlain(other)) return false;
  // Both together have the names of each, and an array never equals an object, because only one of them has a length.
  return (
    one['length'] === other['length'] &&
    Object.keys({ ...one, ...other }).every((name) => isEqual(one[name], other[name]))
  );
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return Array.isArray(value) || (value instanceof Object && Object.getPrototypeOf(value) === Object.prototype);
}
