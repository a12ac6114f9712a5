import { type CanActivate, type ExecutionContext, type INestApplication, Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule, LockService } from 'nestjs-distribute-lock';

import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { ConversationsController } from './answers/conversations.controller.js';
import { Model } from './answers/model.js';

const LIMIT_MS = 20_000;

/** Takes the name of the header for the user. */
@Injectable()
class HeaderGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; user?: { id: string } }>();
    request.user = { id: request.headers['x-user'] };
    return true;
  }
}

describe('recipe: answers per user at a time', () => {
  const redis = useRedis();
  const model = new Model();
  const instances: INestApplication[] = [];
  const addresses: string[] = [];

  beforeAll(async () => {
    for (let instance = 1; instance <= 2; instance += 1) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
        controllers: [ConversationsController],
        providers: [{ provide: Model, useValue: model }],
      }).compile();
      const app = module.createNestApplication({ logger: false });
      app.useGlobalGuards(new HeaderGuard());
      await app.listen(0, '127.0.0.1');
      instances.push(app);
      addresses.push(await app.getUrl());
    }
  });

  afterAll(() => Promise.all(instances.map((app) => app.close())));

  const inUse = async (user: string) => (await instances[0].get(LockService).inspect(`answers:${user}`)).holders.length;
  const ask = (instance: number, user: string, signal?: AbortSignal) =>
    fetch(`${addresses[instance]}/conversations/7/answers`, {
      method: 'POST',
      headers: { 'x-user': user, 'content-type': 'application/json' },
      body: JSON.stringify({ question: 'why?' }),
      ...(signal === undefined ? {} : { signal }),
    });

  /** Asks, and waits for the first word of the answer. */
  async function started(instance: number, user: string, signal?: AbortSignal) {
    const before = model.answers.length;
    const request = ask(instance, user, signal);
    await eventually(() => expect(model.answers).toHaveLength(before + 1), LIMIT_MS);
    const answer = model.answers[before];
    answer.say('because');
    const response = await request;
    expect([response.status, response.headers.get('content-type')]).toEqual([201, 'text/event-stream']);
    return { answer, response };
  }

  it('refuses the third answer of a user with 429 as JSON, on any instance, and admits other users', async () => {
    const first = await started(0, 'ada');
    const second = await started(1, 'ada');
    expect(await inUse('ada')).toBe(2);

    for (const instance of [0, 1]) {
      const refused = await ask(instance, 'ada');
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await refused.json()).toMatchObject({ code: 'LOCK_CONTENDED' });
    }
    const other = await started(0, 'bob');

    for (const { answer, response } of [first, second, other]) {
      answer.end();
      expect(await response.text()).toBe('data: {"text":"because"}\n\n');
    }
  });

  it('frees the place when the stream has ended', async () => {
    const answers = [await started(0, 'cleo'), await started(0, 'cleo')];
    answers[0].answer.end();
    await answers[0].response.text();
    await eventually(async () => expect(await inUse('cleo')).toBe(1), LIMIT_MS);

    const { answer, response } = await started(1, 'cleo');
    for (const each of [answer, answers[1].answer]) each.end();
    await Promise.all([response.text(), answers[1].response.text()]);
    await eventually(async () => expect(await inUse('cleo')).toBe(0), LIMIT_MS);
  });

  it('stops the model and frees the place when the client leaves, also while the model is silent', async () => {
    const leaving = new AbortController();
    const { answer } = await started(0, 'dora', leaving.signal);
    expect(await inUse('dora')).toBe(1);

    leaving.abort();
    await eventually(() => expect(answer.ended).toBe(true), LIMIT_MS);
    await eventually(async () => expect(await inUse('dora')).toBe(0), LIMIT_MS);
  });

  it('frees the place when the model fails', async () => {
    const { answer, response } = await started(0, 'eve');
    answer.fail(new Error('overloaded'));
    await expect(response.text()).rejects.toThrow();
    await eventually(async () => expect(await inUse('eve')).toBe(0), LIMIT_MS);
  });
});
