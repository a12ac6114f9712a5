import { readFile } from 'node:fs/promises';

import { type INestApplication, Logger } from '@nestjs/common';
import request from 'supertest';

import { startRedisServer } from '../support/redis-server.js';

/** The JSON of the responses that a document shows. */
async function shownResponses(document: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(document, 'utf8');
  return Array.from(text.matchAll(/^\{ "(?:published|statusCode)".*\}$/gm), ([json]) => JSON.parse(json));
}

describe('The quick start', () => {
  let app: INestApplication;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    process.env['REDIS_URL'] = (await startRedisServer()).url;
    const { main } = await import('./quick-start/main.js');
    app = await main(0);
  });

  afterAll(async () => app.close());

  it.each(['README.md', 'docs/guide/getting-started.md'])('responds as %s shows', async (document) => {
    const post = () => request(app.getHttpServer()).post('/post-test').send({ channel: 'web' });
    const responses = await Promise.all([post(), post()]);
    const [done, refused] = responses.sort((one, other) => one.status - other.status);
    const [shownDone, shownRefused] = await shownResponses(document);
    expect({ status: done?.status, body: done?.body }).toEqual({ status: 201, body: shownDone });
    expect(refused?.status).toBe(409);
    expect(refused?.body).toEqual({ ...shownRefused, retryAfterMs: expect.any(Number) });
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });
});
