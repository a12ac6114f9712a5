import { jest } from '@jest/globals';
import { type INestApplicationContext, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

import { startRedisServer } from '../support/redis-server.js';

describe('recipe: a serverless function', () => {
  it('starts one application for all calls, also after a failed start', async () => {
    Logger.overrideLogger(false);
    const create = jest.spyOn(NestFactory, 'createApplicationContext');
    const { url } = await startRedisServer();
    process.env['REDIS_URL'] = url;
    create.mockRejectedValueOnce(new Error('no network yet'));
    const { handler } = await import('./serverless/handler.js');

    await expect(handler({ orderId: '7' })).rejects.toThrow('no network yet');
    expect(await Promise.all([handler({ orderId: '7' }), handler({ orderId: '7' })])).toEqual([
      '7 settled, 1 by this instance',
      '7 settled, 2 by this instance',
    ]);
    expect(create).toHaveBeenCalledTimes(2);
    const app = (await create.mock.results[1]?.value) as INestApplicationContext;
    await app.close();
  });
});
