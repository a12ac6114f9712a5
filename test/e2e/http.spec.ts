import { type DemoInstance, startDemo } from './support/demo-instance.js';

// The tests start and end processes, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

describe('an instance of the demo', () => {
  let demo: DemoInstance;

  beforeAll(async () => {
    demo = await startDemo({ REDIS_URL: 'memory', DEMO_WORK_MS: '0' });
  });

  it('sends security headers, and hides its framework', async () => {
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

  it('reports its health with the state of its locks', async () => {
    const { status, body } = await demo.get('/health');

    expect([status, body['status'], body['locks']]).toEqual([200, 'ok', 'memory']);
    expect(body['info']).toMatchObject({ locks: { status: 'up', connections: { default: 'up' }, lost: 0 } });
  });

  it('serves the metrics of its locks for Prometheus, also of locks that were never used', async () => {
    await demo.post('/post-test', { channel: 'metrics' });
    const { headers, text } = await demo.get('/metrics');

    expect(headers.get('content-type')).toContain('text/plain; version=0.0.4');
    expect(text).toMatch(/^distribute_lock_hold_duration_seconds_count\{lock_name="PostTestController[^}]*\} [1-9]/m);
    expect(text).toMatch(/^distribute_lock_held\{lock_name="ExportsController\.[^}]*\} 0/m);
    expect(text).not.toContain('channel');
  });

  it('drops unknown properties of the body', async () => {
    const answer = await demo.post('/post-test', '{"channel":"web","admin":true,"__proto__":{"admin":true}}');

    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body).sort()).toEqual(['channel', 'fencingToken', 'heldMs', 'instance']);
  });

  it.each([
    ['a negative time', { channel: 'web', workMs: -1 }],
    ['an hour', { channel: 'web', workMs: 3_600_000 }],
    ['a fraction', { channel: 'web', workMs: 1.5 }],
    ['a text', { channel: 'web', workMs: '100' }],
  ])('rejects %s', async (_, body) => {
    expect((await demo.post('/post-test', body)).status).toBe(400);
  });

  it.each(['-1', '2147483647', '1.5', 'soon', '60001'])('rejects a read of the catalog for %s ms', async (workMs) => {
    expect((await demo.get(`/catalog/1?workMs=${workMs}`)).status).toBe(400);
  });

  it.each(['0', '-1', '1000000001', '1.5', '%20'])('rejects the id %s', async (id) => {
    const paths = [`/orders/${id}/settle`, `/reports/${id}`, `/reminders/${id}`];
    const answers = await Promise.all(paths.map((path) => demo.post(path, {})));
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect((await demo.get(`/catalog/${id}`)).status).toBe(400);
  });

  it('responds to 1,000 requests in a second with 201 and 409, never with 429', async () => {
    const body = { channel: 'crowd', workMs: 300 };
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => demo.post('/post-test', body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
  });

  it('prints no warning under 30 concurrent requests', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, i) => demo.post('/reports/' + (i + 1), { workMs: 100 })));
    expect(demo.output).not.toMatch(/warning/i);
  });

  it('rejects a body above its limit', async () => {
    expect((await demo.post('/post-test', { channel: 'web', more: 'a'.repeat(20_000) })).status).toBe(413);
  });

  it.each(['/nowhere', '/reports/not-a-number'])('shows no stack trace: POST %s', async (path) => {
    const { status, text } = await demo.post(path, { channel: 'web' });

    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/\.[jt]s|node_modules/);
  });

  it('uses one lock per channel, for any name of the channel', async () => {
    const odd = ['web', 'WEB', 'a/b', 'a#b', '{web}', '*', '__proto__', 'é', 'e\u0301', '\u0000', 'a\r\nb', ' '];

    const answers = await Promise.all(odd.map((channel) => demo.post('/post-test', { channel, workMs: 200 })));

    expect(answers.map(({ status }) => status)).toEqual(odd.map(() => 201));
  });
});
