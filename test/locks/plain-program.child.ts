/** Prints which of the peers and dependencies of the library it has loaded, by `import` and `require`. */
import Module, { register } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';

const OF_INTEREST = /^(@nestjs\/[^/]+|rxjs|reflect-metadata|ioredis|ms)(\/|$)/;
const HOOKS = `
  let port;
  export const initialize = (data) => (port = data.port);
  export const resolve = (specifier, context, next) => (port.postMessage(specifier), next(specifier, context));
`;

const loaded = new Set<string>();
const note = (specifier: unknown): void => {
  const [, name] = OF_INTEREST.exec(String(specifier)) ?? [];
  if (name !== undefined) loaded.add(name);
};
const { port1, port2 } = new MessageChannel();
port1.on('message', note);
port1.unref();
register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, { data: { port: port2 }, transferList: [port2] });
const internals = Module as unknown as Record<string, (...args: unknown[]) => unknown>;
const resolveFilename = internals['_resolveFilename'];
internals['_resolveFilename'] = (...args) => {
  note(args[0]);
  return resolveFilename(...args);
};

const { createLocks } = await import('nestjs-distribute-lock/core');
const locks = await createLocks({ connection: process.env['REDIS_URL'], prefix: process.env['PREFIX'] });
const ran = await locks.withLock('nightly-report', { wait: '10s' }, () => true);
const signalHandlers = process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');
await locks.close();
await delay(50);
console.log(JSON.stringify({ ran, signalHandlers, loaded: [...loaded].toSorted() }));
process.disconnect?.();
