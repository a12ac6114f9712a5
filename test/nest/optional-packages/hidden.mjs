/** Packages that are optional for an application. */
export const OPTIONAL = [
  ...['express', 'fastify', 'graphql', 'bullmq', 'ws', 'socket.io'],
  ...['swagger', 'graphql', 'microservices', 'websockets', 'schedule', 'bullmq', 'event-emitter', 'cqrs'].map(scoped),
  ...['platform-express', 'platform-fastify', 'platform-socket.io', 'platform-ws'].map(scoped),
];

function scoped(name) {
  return `@nestjs/${name}`;
}

let port;

export function initialize(data) {
  ({ port } = data);
}

/** Hides the packages as if they were not installed, and reports each request for one. */
export async function resolve(specifier, context, nextResolve) {
  if (OPTIONAL.some((name) => specifier === name || specifier.startsWith(`${name}/`))) {
    port.postMessage({ specifier, by: context.parentURL });
    throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' });
  }
  return nextResolve(specifier, context);
}
