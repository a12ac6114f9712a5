/** Prints which of the peers and dependencies of the library it has loaded, by `import` and `require`. */
import { noteLoads } from '../package/applications/noted-loads.mjs';

const loaded = noteLoads(/^(@nestjs\/[^/]+|rxjs|reflect-metadata|ioredis|ms)(\/|$)/);
const { createLocks } = await import('nestjs-distribute-lock/core');
const locks = await createLocks({ connection: process.env['REDIS_URL'], prefix: process.env['PREFIX'] });
const ran = await locks.withLock('nightly-report', { wait: '10s' }, () => true);
const signalHandlers = process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');
await locks.close();
console.log(JSON.stringify({ ran, signalHandlers, loaded: await loaded() }));
process.disconnect?.();
