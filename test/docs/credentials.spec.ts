import { Test } from '@nestjs/testing';
import { LockService } from 'nestjs-distribute-lock';

import { startRedisServer } from '../support/redis-server.js';

describe('The example of the page on rotating credentials', () => {
  it('connects with the user and the token that the function returns', async () => {
    const server = await startRedisServer();
    await server.run((redis) => redis.call('ACL', 'SETUSER', 'locks', 'on', '>token', '~*', '&*', '+@all'));
    process.env['REDIS_URL'] = server.url;
    const { AppModule } = await import('./guide/credentials.js');
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    await module.init();
    try {
      await (await module.get(LockService).acquire('a')).release();
      expect(await server.run((redis) => redis.client('LIST'))).toContain('user=locks');
    } finally {
      await module.close();
    }
  });
});
