import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { Child } from '../support/child.js';

interface Seen {
  readonly entry: string;
  readonly requests: readonly { readonly specifier: string; readonly by: string }[];
  readonly ran: string;
  readonly refused: string;
  readonly trapped: string;
  readonly files: readonly string[];
}

/** Needs `npm run build`, which `npm test` runs first. */
describe('an application without express, fastify, swagger, graphql, microservices, websockets, schedule and bullmq', () => {
  let seen: Seen;

  beforeAll(async () => {
    const script = fileURLToPath(new URL('optional-packages/bare-application.mjs', import.meta.url));
    const forked = fork(script, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    const child = new Child(forked);
    const answered = once(forked, 'message') as Promise<[{ data: Seen }]>;
    const ended = child.exited.then(() => Promise.reject(new Error(child.output)));
    const [{ data }] = await Promise.race([answered, ended]);
    seen = data;
    await child.exited;
  });

  it('runs the built package: a lock is acquired, and a second caller is refused', () => {
    expect(seen.entry).toMatch(/libs\/distribute-lock\/dist\/esm\/index\.js$/);
    expect(seen).toMatchObject({ ran: 'job', refused: 'LOCK_CONTENDED' });
  });

  it('imports none of them from the package', () => {
    expect(seen.trapped).toBe('ERR_MODULE_NOT_FOUND');
    // imported by the spec itself
    expect(seen.requests).toContainEqual(expect.objectContaining({ specifier: '@nestjs/websockets' }));
    expect(seen.requests.filter(({ by }) => by.includes('/distribute-lock/'))).toEqual([]);
  });

  it('loads none of them', () => {
    const optional = /node_modules\/(express|fastify|graphql|bullmq|ws|socket\.io|@nestjs\/(?!common|core)[^/]+)\//;
    expect(seen.files.filter((file) => optional.test(file))).toEqual([]);
  });
});
