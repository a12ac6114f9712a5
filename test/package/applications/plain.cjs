// Acquires locks by `require`, and prints which packages it has loaded.
const { createLocks, outsideLocks } = require('nestjs-distribute-lock/core');

void (async () => {
  const locks = await createLocks({ connection: 'memory', log: { debug() {}, log() {}, warn() {} } });
  const answers = await locks.withLock('a', async () => ['ran', await outsideLocks(() => locks.tryAcquire('a'))]);
  await locks.close();
  const names = Object.keys(require.cache).map(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(path)?.[1],
  );
  const loaded = ['@nestjs/common', '@nestjs/core', 'ioredis', 'ms', 'reflect-metadata', 'rxjs'].filter((name) =>
    names.includes(name),
  );
  console.log(JSON.stringify({ answers, loaded }));
})();
