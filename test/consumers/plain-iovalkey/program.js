// With a client of iovalkey: is refused and waits while another process holds the lock, then holds it until it reads a line.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createLocks } from 'distribute-lock';
import Redis from 'iovalkey';

const { KEY, REDIS_URL } = process.env;
const client = new Redis(REDIS_URL);
const locks = await createLocks({ connection: client });
const refused = (await locks.tryAcquire(KEY)) === null;
console.log('refused');
const lease = await locks.acquire(KEY, { wait: '60s' });
console.log('held');
await once(process.stdin, 'data');
await lease.release();
await locks.close();
await client.quit();
process.stdin.destroy();
console.log(
  JSON.stringify({ refused, token: lease.fencingToken > 0, loaded: Object.keys(createRequire(import.meta.url).cache) }),
);
