import { type DemoInstance, startDemo } from './support/demo-instance.js';

// Processes start and end here, on machines that may be busy.
import.meta.jest.setTimeout(60_000);

describe('an instance of the demo', () => {
  let demo: DemoInstance;

  beforeAll(async () => {
    demo = await startDemo({ REDIS_URL: 'memory', DEMO_WORK_MS: '0' });
  });

  it('sends security headers, and not what it is made of', async () => {
    const { headers } = await demo.get('/health');

    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  });

  it('serves a first page, Swagger UI and the OpenAPI document', async () => {
    const [home, docs, document] = await Promise.all(['/', '/docs', '/docs-json'].map((path) => demo.get(path)));

    expect(home?.text).toContain(demo.name);
    expect(docs?.text).toContain('swagger-ui');
    expect(Object.keys(document?.body['paths'] as object)).toEqual(
      expect.arrayContaining(['/post-test', '/post-test/wait', '/reports/{id}', '/orders/{id}/settle', '/click']),
    );
  });

  it('drops what the body should not hold', async () => {
    const answer = await demo.post('/post-test', '{"channel":"web","admin":true,"__proto__":{"admin":true}}');

    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body).sort()).toEqual(['channel', 'fencingToken', 'heldMs', 'instance']);
  });

  it.each([
    ['a negative time', { channel: 'web', workMs: -1 }],
    ['an hour', { channel: 'web', workMs: 3_600_000 }],
    ['a fraction', { channel: 'web', workMs: 1.5 }],
    ['a text', { channel: 'web', workMs: '100' }],
  ])('does not work for %s', async (_, body) => {
    expect((await demo.post('/post-test', body)).status).toBe(400);
  });

  it('refuses a body above its limit', async () => {
    expect((await demo.post('/post-test', { channel: 'web', more: 'a'.repeat(20_000) })).status).toBe(413);
  });

  it.each(['/nowhere', '/reports/not-a-number'])('shows no stack trace: POST %s', async (path) => {
    const { status, text } = await demo.post(path, { channel: 'web' });

    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/\.[jt]s|node_modules/);
  });

  it('names one lock per channel, whatever the channel holds', async () => {
    const odd = ['web', 'WEB', 'a/b', 'a#b', '{web}', '*', '__proto__', 'é', 'e\u0301', '\u0000', 'a\r\nb', ' '];

    const answers = await Promise.all(odd.map((channel) => demo.post('/post-test', { channel, workMs: 200 })));

    expect(answers.map(({ status }) => status)).toEqual(odd.map(() => 201));
  });
});
