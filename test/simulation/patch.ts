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
