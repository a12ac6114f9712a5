// Acquires locks by `import`, and prints which packages it has loaded.
import Module, { register } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';

const OF_INTEREST = /^(@nestjs\/[^/]+|rxjs|reflect-metadata|ioredis|ms)(\/|$)/;
const HOOKS = `
  let port;
  export const initialize = (data) => (port = data.port);
  export const resolve = (specifier, context, next) => (port.postMessage(specifier), next(specifier, context));
`;

const loaded = new Set();
const note = (specifier) => {
  const [, name] = OF_INTEREST.exec(specifier) ?? [];
  if (name !== undefined) loaded.add(name);
};
const { port1, port2 } = new MessageChannel();
port1.on('message', note);
port1.unref();
register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, { data: { port: port2 }, transferList: [port2] });
const RESOLVE = '_resolveFilename';
const resolveFilename = Module[RESOLVE];
Module[RESOLVE] = (specifier, ...rest) => {
  note(specifier);
  return resolveFilename(specifier, ...rest);
};

const { createLocks, outsideLocks } = await import('nestjs-distribute-lock/core');
const locks = await createLocks({ connection: 'memory', log: { debug() {}, log() {}, warn() {} } });
const answers = await locks.withLock('a', async () => ['ran', await outsideLocks(() => locks.tryAcquire('a'))]);
await locks.close();
await delay(50);
console.log(JSON.stringify({ answers, loaded: [...loaded].toSorted((one, other) => one.localeCompare(other)) }));
