import type { DynamicModule } from '@nestjs/common';

/** Weak, because the classes that import a module keep it. */
let modules: readonly WeakRef<DynamicModule>[] = [];
const optionsOf = new WeakMap<DynamicModule, unknown>();

/** Returns the module that was made with equal options, if any, because Nest recognizes the same module by its identity. */
export function sameModule(options: unknown, make: () => DynamicModule): DynamicModule {
  modules = modules.filter((ref) => ref.deref() !== undefined);
  for (const ref of modules) {
    const known = ref.deref();
    if (known !== undefined && isEqual(optionsOf.get(known), options)) return known;
  }
  const module = make();
  optionsOf.set(module, options);
  modules = [...modules, new WeakRef(module)];
  return module;
}

/** Compares plain objects and arrays by their contents, and all other values by identity, such as clients and functions. */
function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (!isPlain(one) || !isPlain(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
  );
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
