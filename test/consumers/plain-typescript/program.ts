// Is refused and waits while another process holds the lock, then holds it until it reads a line.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createLocks, type CreateLocksOptions, isLockError, type Lease } from 'nestjs-distribute-lock/core';
import { createLocks as sameFunction } from 'distribute-lock';

const { KEY = '', REDIS_URL } = process.env;
const options: CreateLocksOptions = { connection: REDIS_URL, defaults: { ttl: '30s' } };
let refused = false;
let lease: Lease;
{
  await using locks = await createLocks(options);
  await locks.acquire(KEY).catch((error: unknown) => (refused = isLockError(error, 'LOCK_CONTENDED')));
  console.log('refused');
  lease = await locks.acquire(KEY, { wait: '60s' });
  console.log('held');
  await once(process.stdin, 'data');
  await lease.release();
}
process.stdin.destroy();
const loaded = Object.keys(createRequire(import.meta.url).cache);
const token = lease.fencingToken > 0 && createLocks === sameFunction;
console.log(JSON.stringify({ refused, token, loaded }));
