/** A wrong value as a message shows it: short, and recognisable as text or not. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  try {
    return String(value);
  } catch {
    // It cannot be turned into text, for example because it has no prototype.
    return 'an object';
  }
}
