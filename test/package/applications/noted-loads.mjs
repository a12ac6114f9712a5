// Notes which packages of interest are loaded from now on, by `import` and by `require`.
import Module, { register } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';

const HOOKS = `
  let port;
  export const initialize = (data) => (port = data.port);
  export const resolve = (specifier, context, next) => (port.postMessage(specifier), next(specifier, context));
`;
const RESOLVE = '_resolveFilename';

/** `ofInterest` has the name of the package as its first group. Returns a function that takes the names so far, in order. */
export function noteLoads(ofInterest) {
  const found = new Set();
  const note = (specifier) => {
    const [, name] = ofInterest.exec(specifier) ?? [];
    if (name !== undefined) found.add(name);
  };
  const { port1, port2 } = new MessageChannel();
  port1.on('message', note);
  port1.unref();
  register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, { data: { port: port2 }, transferList: [port2] });
  const resolveFilename = Module[RESOLVE];
  Module[RESOLVE] = (specifier, ...rest) => {
    note(specifier);
    return resolveFilename(specifier, ...rest);
  };
  return async () => {
    // The notes of imports come by messages.
    await delay(50);
    const names = [...found].sort((one, other) => one.localeCompare(other));
    found.clear();
    return names;
  };
}
