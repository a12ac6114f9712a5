import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule, LockService } from 'nestjs-distribute-lock';

import { startProcess } from '../support/second-process.js';
import { useRedis } from '../support/use-redis.js';

describe('recipe: graceful shutdown', () => {
  const redis = useRedis();
  let other: INestApplicationContext;

  afterAll(() => other.close());

  it('finishes the current page, releases the lock for the next instance, and ends the process', async () => {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
    }).compile();
    other = await module.init();
    const child = startProcess<{ page: string }>(new URL('shutdown/main.child.ts', import.meta.url), {
      REDIS_URL: redis.url,
      LOCK_PREFIX: redis.prefix,
    });
    await child.once('page');
    expect(await redis.client.exists(`${redis.prefix}import`)).toBe(1);

    const next = other.get(LockService).acquire('import', { wait: '20s' });
    const [exit] = await Promise.all([child.kill('SIGTERM'), next.then((lease) => lease.release())]);
    expect(exit.signal ?? exit.code).toBe('SIGTERM'); // Nest sends the signal to the process again after all hooks
    expect(child.output).toMatch(/The shutdown waits up to 20\.0 s for 1 lock: ImportService\.importAll/);
    const pages = child.output.split('\n').filter((line) => line.startsWith('page '));
    expect(pages.join('\n')).toMatch(/^page begun\n(page done\npage begun\n)*page done$/);
  });
});
