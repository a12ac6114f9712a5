import { Logger } from '@nestjs/common';

const logger = new Logger('DistributeLock');

const MINUTE_MS = 60_000;

/** Logs the first warning of each kind at once, and counts the others of the next minute: an outage may cause thousands. */
export function oncePerMinute(): (kind: string, text: string) => void {
  const recent = new Map<string, { text: string; more: number }>();
  const watch = (kind: string, text: string): void => {
    const line = { text, more: 0 };
    recent.set(kind, line);
    const end = (): void => {
      recent.delete(kind);
      if (line.more === 0) return;
      logger.warn(`${line.text} (${line.more} times more in the last minute)`);
      watch(kind, line.text);
    };
    setTimeout(end, MINUTE_MS).unref();
  };
  return (kind, text) => {
    const line = recent.get(kind);
    if (line === undefined) {
      logger.warn(text);
      watch(kind, text);
    } else Object.assign(line, { text, more: line.more + 1 });
  };
}
