// Is refused and waits while another process holds the lock, then holds it until it reads a line.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createLocks } from 'distribute-lock';

const { KEY, REDIS_URL } = process.env;
const locks = await createLocks({ connection: REDIS_URL });
const refused = (await locks.tryAcquire(KEY)) === null;
console.log('refused');
const lease = await locks.acquire(KEY, { wait: '60s' });
console.log('held');
await once(process.stdin, 'data');
await lease.release();
await locks.close();
process.stdin.destroy();
console.log(
  JSON.stringify({ refused, token: lease.fencingToken > 0, loaded: Object.keys(createRequire(import.meta.url).cache) }),
);
