import type { History, Violation } from './history.js';

/** No key, queue entry, channel or process is left; every key has a TTL; no error occurs outside of a promise. */
export function checkCleanUp(history: History): Violation[] {
  const left = history.ofRun.flatMap((event): Violation[] => {
    if (event.type === 'left') return [fault('clean-up', `left behind ${event.what}`, event.at)];
    if (event.type === 'persistent') return [fault('clean-up', `${event.key} has no TTL`, event.at)];
    if (event.type === 'exited' && !event.byItself)
      return [fault('clean-up', `process ${event.of} crashed, or did not end after its shutdown`, event.at)];
    return [];
  });
  const stray = history.stray.map(({ at, process, message }) => fault('stray errors', `${process}: ${message}`, at));
  return [...left, ...stray];
}

function fault(rule: string, message: string, at: number): Violation {
  return { rule, message, operations: [], at };
}
