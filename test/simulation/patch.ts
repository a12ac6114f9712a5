/** Undoes a patch. */
export type Restore = () => void;

// Whatever it is given: the methods that are replaced are private, their types are not to be had.
type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Replaces a method of a class, for a while. */
export function patch(
  owner: { readonly prototype: object },
  name: string,
  make: (original: Method) => (this: never, ...args: never[]) => unknown,
): Restore {
  const methods = owner.prototype as Record<string, Method>;
  const original = methods[name];
  if (typeof original !== 'function') throw new Error(`There is no method ${name} any more`);
  methods[name] = make(original) as Method;
  return () => {
    methods[name] = original;
  };
}

/** The same for a getter. */
export function patchGetter<T extends object>(
  owner: { readonly prototype: T },
  name: string,
  make: (original: (this: T) => unknown) => (this: T) => unknown,
): Restore {
  const descriptor = Object.getOwnPropertyDescriptor(owner.prototype, name);
  if (descriptor?.get === undefined) throw new Error(`There is no getter ${name} any more`);
  Object.defineProperty(owner.prototype, name, { ...descriptor, get: make(descriptor.get as (this: T) => unknown) });
  return () => void Object.defineProperty(owner.prototype, name, descriptor);
}
