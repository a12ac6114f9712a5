import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';

import { LockModule } from '../../libs/distribute-lock/src/nest/module/lock.module.js';
import type { LockModuleOptions } from '../../libs/distribute-lock/src/nest/module/lock-module-options.js';
import { LockService } from '../../libs/distribute-lock/src/nest/lock.service.js';
import { startRedisServer } from '../support/redis-server.js';

/** A server without some commands, as managed services provide it. Starts as fast as any server. */
async function without(...commands: readonly string[]): Promise<string> {
  const server = await startRedisServer();
  const denied = commands.map((command) => `-${command}`);
  await server.run((redis) => redis.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', ...denied));
  return server.url.replace('//', '//app:secret@');
}

/** Starts an application, locks something in it, and returns its warnings. */
async function warnings(options: LockModuleOptions): Promise<string[]> {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  try {
    const testing = await Test.createTestingModule({ imports: [LockModule.forRoot(options)] }).compile();
    const app = await testing.createNestApplication().init();
    await app.get(LockService).withLock('key', {}, async () => undefined);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await app.close();
    return warn.mock.calls.map(([message]) => String(message));
  } finally {
    warn.mockRestore();
  }
}

describe('An application on a server', () => {
  it('without EVAL does not start, and the message names the command', async () => {
    const connection = await without('eval', 'evalsha');
    await expect(warnings({ connection })).rejects.toThrow(/NOPERM.*evalsha.*Every lock needs scripts/s);
  });

  it('without WAIT does not start with durability, and the message names both', async () => {
    const connection = await without('wait');
    await expect(warnings({ connection, durability: { replicas: 1 } })).rejects.toThrow(
      /NOPERM.*wait.*"durability" needs WAIT/s,
    );
    expect(await warnings({ connection })).toEqual([]);
  });

  it('without INFO, CONFIG, CLIENT and COMMAND starts and locks in silence', async () => {
    const connection = await without('info', 'config', 'client', 'command', 'cluster');
    expect(await warnings({ connection })).toEqual([]);
  });
});
