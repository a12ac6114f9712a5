/** Packages that an application may do without. */
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

/** As if they were not installed; tells who asks for one all the same. */
export async function resolve(specifier, context, nextResolve) {
  if (OPTIONAL.some((name) => specifier === name || specifier.startsWith(`${name}/`))) {
    port.postMessage({ specifier, by: context.parentURL });
    throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' });
  }
  return nextResolve(specifier, context);
}
