// Prints which optional packages each entry loads, by `import` and by `require`.
import Module, { createRequire, register } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';

const OPTIONAL = /^(@nestjs\/swagger|@nestjs\/terminus|@opentelemetry\/api|prom-client)(\/|$)/;
const ENTRIES = ['', '/core', '/testing', '/prometheus', '/otel', '/terminus', '/dashboard', '/swagger'];
const HOOKS = `
  let port;
  export const initialize = (data) => (port = data.port);
  export const resolve = (specifier, context, next) => (port.postMessage(specifier), next(specifier, context));
`;

const found = new Set();
const note = (specifier) => {
  const [, name] = OPTIONAL.exec(specifier) ?? [];
  if (name !== undefined) found.add(name);
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

const require = createRequire(import.meta.url);
const loaded = {};
for (const entry of ENTRIES) {
  for (const way of ['import', 'require']) {
    found.clear();
    if (way === 'import') await import(`nestjs-distribute-lock${entry}`);
    else require(`nestjs-distribute-lock${entry}`);
    await delay(50);
    loaded[`${way} .${entry}`] = [...found].sort((one, other) => one.localeCompare(other));
  }
}
console.log(JSON.stringify(loaded));
