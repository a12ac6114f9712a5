/** A wrong value as a message shows it: short, and recognisable as text or not. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : String(value);
}
