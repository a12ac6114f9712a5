/** Undoes a patch. */
export type Restore = () => void;

// The replaced methods are private, so their types are not available.
type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Replaces a method of a class until `Restore` is called. */
export function patch(
  owner: { readonly prototype: object },
  name: string,
  make: (original: Method) => (this: never, ...args: never[]) => unknown,
): Restore {
  const methods = owner.prototype as Record<string, Method>;
  const original = methods[name];
  if (typeof original !== 'function') throw new Error(`The class has no method ${name}`);
  methods[name] = make(original) as Method;
  return () => {
    methods[name] = original;
  };
}

/** Replaces a getter of a class until `Restore` is called. */
export function patchGetter<T extends object>(
  owner: { readonly prototype: T },
  name: string,
  make: (original: (this: T) => unknown) => (this: T) => unknown,
): Restore {
  const descriptor = Object.getOwnPropertyDescriptor(owner.prototype, name);
  if (descriptor?.get === undefined) throw new Error(`The class has no getter ${name}`);
  Object.defineProperty(owner.prototype, name, { ...descriptor, get: make(descriptor.get as (this: T) => unknown) });
  return () => void Object.defineProperty(owner.prototype, name, descriptor);
}
