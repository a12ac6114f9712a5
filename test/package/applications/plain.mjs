// Acquires locks by `import`, and prints which packages it has loaded.
import { noteLoads } from './noted-loads.mjs';

const loaded = noteLoads(/^(@nestjs\/[^/]+|rxjs|reflect-metadata|ioredis|ms)(\/|$)/);
const { createLocks, outsideLocks } = await import('nestjs-distribute-lock/core');
const locks = await createLocks({ connection: 'memory', log: { debug() {}, log() {}, warn() {} } });
const answers = await locks.withLock('a', async () => ['ran', await outsideLocks(() => locks.tryAcquire('a'))]);
await locks.close();
console.log(JSON.stringify({ answers, loaded: await loaded() }));
