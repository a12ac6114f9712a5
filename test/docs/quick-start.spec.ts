import { readFile } from 'node:fs/promises';

import { jest } from '@jest/globals';
import { type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import request from 'supertest';

import { eventually } from '../support/eventually.js';
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
    Object.assign(process.env, { REDIS_URL: (await startRedisServer()).url, PORT: '0' });
    const create = jest.spyOn(NestFactory, 'create');
    await import('./quick-start/main.js');
    app = await (create.mock.results[0]?.value as Promise<INestApplication>);
    await eventually(() => expect(app.getHttpServer().listening).toBe(true));
  });

  afterAll(async () => app.close());

  it.each(['README.md', 'docs/guide/getting-started.md'])('responds as %s shows', async (document) => {
    const post = () => request(app.getHttpServer()).post('/post-test').send({ channel: 'web' });
    const responses: request.Response[] = [];
    await Promise.all([post(), post()].map(async (sent) => responses.push(await sent)));
    const [refused, done] = responses;
    const [shownRefused, shownDone] = await shownResponses(document);
    expect({ status: done?.status, body: done?.body }).toEqual({ status: 201, body: shownDone });
    expect(refused?.status).toBe(409);
    expect(refused?.body).toEqual({ ...shownRefused, retryAfterMs: expect.any(Number) });
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  });
});
