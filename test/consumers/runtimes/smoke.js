// Checks the locks of a program without Nest on one runtime, and prints each check with its result. Ends by itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { createLocks, isLockError, lockKey, outsideLocks } from 'distribute-lock';
import { Redis } from 'ioredis';

const url = process.env.REDIS_URL;
const redis = new Redis(url);
const log = { debug() {}, log() {}, warn() {} };
const [here, there] = await Promise.all([createLocks({ connection: url, log }), createLocks({ connection: url, log })]);
const codeOf = (promise) =>
  promise.then(
    () => 'none',
    (error) => (isLockError(error) ? error.code : String(error)),
  );

const checks = {
  async 'acquires and releases'() {
    const lease = await here.acquire('a');
    const held = lease.isHeld() && (await redis.exists('lock:a')) === 1;
    await lease.release();
    return held && !lease.isHeld() && (await redis.exists('lock:a')) === 0;
  },
  async 'gives the key a TTL'() {
    await using _ = await here.acquire('ttl', { ttl: '5s' });
    const ms = await redis.pttl('lock:ttl');
    return ms > 3_000 && ms <= 5_000;
  },
  async 'refuses while another process holds the lock'() {
    await using _ = await there.acquire('b');
    return (await codeOf(here.acquire('b'))) === 'LOCK_CONTENDED';
  },
  async 'tryAcquire() resolves with null'() {
    await using _ = await there.acquire('c');
    return (await here.tryAcquire('c')) === null;
  },
  async 'a client with SET NX excludes and is excluded'() {
    await redis.set('lock:d', 'other', 'PX', 5_000, 'NX');
    const refused = (await here.tryAcquire('d')) === null;
    await redis.del('lock:d');
    await using _ = await here.acquire('d');
    return refused && (await redis.set('lock:d', 'other', 'PX', 5_000, 'NX')) === null;
  },
  async 'waits for a message, without polling'() {
    const held = await there.acquire('e');
    const waits = here.acquire('e', { wait: '10s' });
    await sleep(300);
    const releasedAt = performance.now();
    await held.release();
    const lease = await waits;
    const ms = performance.now() - releasedAt;
    await lease.release();
    return ms < 500;
  },
  async 'ends a wait after its time'() {
    await using _ = await there.acquire('f');
    return (await codeOf(here.acquire('f', { wait: 200 }))) === 'LOCK_WAIT_TIMEOUT';
  },
  async 'ends a wait by a signal'() {
    await using _ = await there.acquire('g');
    const signal = AbortSignal.timeout(100);
    return (await codeOf(here.acquire('g', { wait: '10s', signal }))) === 'LOCK_ABORTED';
  },
  async 'withLock() returns the result'() {
    return here.withLock('h', (lease) => lease.isHeld());
  },
  async 'withLock() releases after an error'() {
    const error = new Error('work');
    const caught = await here.withLock('i', () => Promise.reject(error)).catch((thrown) => thrown);
    return caught === error && (await redis.exists('lock:i')) === 0;
  },
  async 'fencing tokens rise'() {
    const tokens = [];
    for (const locks of [here, there, here]) tokens.push(await locks.withLock('j', ({ fencingToken }) => fencingToken));
    return tokens[0] < tokens[1] && tokens[1] < tokens[2];
  },
  async 'renews a lease'() {
    await using lease = await here.acquire('k', { ttl: '3s' });
    await sleep(4_000);
    return lease.isHeld() && (await there.tryAcquire('k')) === null;
  },
  async 'extends a lease'() {
    await using lease = await here.acquire('l', { ttl: '5s' });
    await lease.extend('20s');
    return lease.remainingMs() > 10_000;
  },
  async 'notifies the holder of a forced release'() {
    await using lease = await here.acquire('m');
    await there.forceRelease('m');
    for (let i = 0; i < 50 && !lease.signal.aborted; i += 1) await sleep(20);
    return lease.signal.aborted && lease.signal.reason.reason === 'forced';
  },
  async 'takes a lock over in one step'() {
    await using before = await there.acquire('n');
    await using after = await here.steal('n');
    return after.isHeld() && after.fencingToken > before.fencingToken;
  },
  async 'inspects a lock'() {
    await using _ = await there.acquire('o');
    const { held, holders } = await here.inspect('o');
    return held && holders.length === 1;
  },
  async 'a semaphore admits as many as its permits'() {
    const options = { kind: 'semaphore', permits: 2 };
    await using first = await here.acquire('p', options);
    await using second = await there.acquire('p', options);
    return first.isHeld() && second.isHeld() && (await there.tryAcquire('p', options)) === null;
  },
  async 'readers share, a writer is refused'() {
    await using first = await here.acquire('q', { kind: 'read' });
    await using second = await there.acquire('q', { kind: 'read' });
    return first.isHeld() && second.isHeld() && (await there.tryAcquire('q', { kind: 'write' })) === null;
  },
  async 'a writer becomes a reader'() {
    await using lease = await here.acquire('r', { kind: 'write' });
    await lease.downgrade();
    await using reader = await there.acquire('r', { kind: 'read' });
    return lease.isHeld() && reader.isHeld();
  },
  async 'acquires all of several keys or none'() {
    const held = await there.acquire('t');
    const refused = (await here.tryAcquire(['s', 't'])) === null && (await redis.exists('lock:s')) === 0;
    await held.release();
    await using both = await here.acquire(['s', 't']);
    return refused && both.keys.length === 2;
  },
  async 'knows the lease of the running call'() {
    return here.withLock('u', async (lease) => {
      await sleep(5);
      return here.current()?.key === lease.key;
    });
  },
  async 'refuses a call inside its own lock'() {
    return here.withLock('v', async () => (await codeOf(here.acquire('v', { wait: '1s' }))) === 'LOCK_USAGE');
  },
  async 'lets a reentrant call in'() {
    return here.withLock('w', () => here.withLock('w', { reentrant: true }, () => true));
  },
  async 'leaves the call chain by outsideLocks()'() {
    return here.withLock('x', () => outsideLocks(() => here.current() === undefined));
  },
  async 'reports events'() {
    const types = new Set();
    const stop = here.events.listen(({ type }) => types.add(type));
    await here.withLock('y', () => undefined);
    if (typeof stop === 'function') stop();
    return types.has('acquired') && types.has('released');
  },
  async 'runs an instant once'() {
    const instant = new Date();
    let runs = 0;
    for (const locks of [here, there]) await locks.onceAt('z', instant, () => void (runs += 1));
    return runs === 1;
  },
  async leads() {
    let terms = 0;
    const leader = here.lead('leader', async ({ signal }) => {
      terms += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    for (let i = 0; i < 50 && !leader.isLeader; i += 1) await sleep(20);
    const { isLeader } = leader;
    await leader.stop();
    return isLeader && terms === 1;
  },
  async 'encodes the values of a key'() {
    return lockKey`order:${'a:b'}` === 'order:a%3Ab';
  },
  async 'works in memory'() {
    await using locks = await createLocks({ connection: 'memory' });
    await using _ = await locks.acquire('a');
    return (await locks.tryAcquire('a')) === null;
  },
};

for (const [name, check] of Object.entries(checks)) {
  const result = await check().catch((error) => `${error}`);
  console.log(`${result === true ? 'ok' : `FAILED (${result})`} ${name}`);
}
await Promise.all([here.close(), there.close()]);
redis.disconnect();
