const MINUTE_MS = 60_000;

/** Writes the first line of each kind at once, and counts the others of the next minute: an outage may cause thousands. */
export function oncePerMinute(write: (text: string) => void): (kind: string, text: string) => void {
  const recent = new Map<string, { text: string; more: number }>();
  const watch = (kind: string, text: string): void => {
    const line = { text, more: 0 };
    recent.set(kind, line);
    const end = (): void => {
      recent.delete(kind);
      if (line.more === 0) return;
      write(`${line.text} (${line.more} times more in the last minute)`);
      watch(kind, line.text);
    };
    setTimeout(end, MINUTE_MS).unref();
  };
  return (kind, text) => {
    const line = recent.get(kind);
    if (line === undefined) {
      write(text);
      watch(kind, text);
    } else Object.assign(line, { text, more: line.more + 1 });
  };
}
