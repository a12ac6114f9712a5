import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import request from 'supertest';

import { startRedisServer } from '../support/redis-server.js';

describe('recipe: the page of locks', () => {
  let app: INestApplication;

  beforeAll(async () => {
    // The module reads the address when it is loaded.
    process.env['REDIS_URL'] = (await startRedisServer()).url;
    const { LocksPageModule } = await import('./dashboard/locks-page.module.js');
    app = await NestFactory.create(LocksPageModule, { logger: false });
    await app.listen(0, '127.0.0.1');
  });

  afterAll(async () => {
    await app.close();
    delete process.env['REDIS_URL'];
  });

  const page = () => request(app.getHttpServer()).get('/admin/locks');

  it('is served to an operator', async () => {
    const { status, text } = await page().set('x-role', 'operator');
    expect(status).toBe(200);
    expect(text).toContain('src="locks/page.js"');
  });

  it('is refused to others', async () => {
    expect((await page()).status).toBe(403);
    expect((await page().set('x-role', 'customer')).status).toBe(403);
  });
});
