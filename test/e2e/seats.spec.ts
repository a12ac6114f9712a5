import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { type DemoInstance, startTwoDemos } from './support/demo-instance.js';

// The tests start and end processes, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

/** A reservation that ends while the test waits for it. */
const SHORT_HOLD_MS = 1_000;

describe('reservations of seats in two instances of the demo', () => {
  const redis = useRedis();
  let alice: DemoInstance;
  let bob: DemoInstance;

  beforeAll(async () => {
    [alice, bob] = await startTwoDemos({ REDIS_URL: redis.url, DEMO_PREFIX: redis.prefix, DEMO_WORK_MS: '0' });
  });

  async function reserve(demo: DemoInstance, seat: number, holdMs?: number): Promise<string> {
    const { status, body } = await demo.post(`/seats/${seat}/reserve`, { holdMs });
    expect(status).toBe(201);
    return body['ticket'] as string;
  }

  const ownerOf = (seat: number) => redis.client.get(`${redis.prefix}seat:${seat}`);
  const confirm = (demo: DemoInstance, ticket: string) => demo.post('/seats/confirm', { ticket });
  const cancel = (demo: DemoInstance, ticket: string) => demo.post('/seats/cancel', { ticket });
  const refusal = (reason: string) => ({ status: 410, body: { code: 'RESERVATION_OVER', reason } });

  it('begin on one instance and end on the other one, once', async () => {
    const before = Date.now();
    const { status, body } = await alice.post('/seats/1/reserve', {});
    expect(status).toBe(201);
    expect(Date.parse(body['until'] as string)).toBeGreaterThanOrEqual(before + 600_000);
    for (const demo of [alice, bob]) {
      const refused = await demo.post('/seats/1/reserve', {});
      expect([refused.status, refused.body['code']]).toEqual([409, 'LOCK_CONTENDED']);
    }

    const ticket = body['ticket'] as string;
    const confirmed = await confirm(bob, ticket);
    expect(confirmed.status).toBe(200);
    expect(confirmed.body).toMatchObject({ instance: bob.name, fencingToken: expect.any(Number) });
    for (const demo of [bob, alice]) expect(await confirm(demo, ticket)).toMatchObject(refusal('used'));
    expect((await cancel(alice, ticket)).body).toEqual({ cancelled: false });

    expect(await ownerOf(1)).toBeNull();
    const next = await confirm(alice, await reserve(bob, 1));
    expect(next.body['fencingToken']).toBeGreaterThan(confirmed.body['fencingToken'] as number);
  });

  it('keep the seat locked while the confirmation works', async () => {
    const ticket = await reserve(alice, 2);
    const owner = await ownerOf(2);
    const client = new AbortController();
    const work = bob.post('/seats/confirm', { ticket, workMs: 60_000 }, { signal: client.signal });
    await eventually(async () => expect(await ownerOf(2)).not.toBe(owner));

    expect((await alice.post('/seats/2/reserve', {})).status).toBe(409);
    expect((await cancel(alice, ticket)).body).toEqual({ cancelled: false });
    expect(await ownerOf(2)).not.toBeNull();

    client.abort();
    await expect(work).rejects.toThrow('aborted');
  });

  it('pass a cancelled seat to a reservation that waits on the other instance', async () => {
    const ticket = await reserve(alice, 3);
    const waiting = bob.post('/seats/3/reserve/wait', {});
    await eventually(async () => expect(await redis.client.zcard(`q1:{${redis.prefix}seat:3}`)).toBe(1));

    expect((await cancel(alice, ticket)).body).toEqual({ cancelled: true });
    const { status, body } = await waiting;
    expect(status).toBe(201);
    expect((await cancel(alice, ticket)).body).toEqual({ cancelled: false });
    expect(await confirm(alice, ticket)).toMatchObject(refusal('released'));
    expect((await confirm(alice, body['ticket'] as string)).status).toBe(200);
  });

  it('end with their time, and not before', async () => {
    const sentAt = performance.now();
    const ticket = await reserve(alice, 4, SHORT_HOLD_MS);
    await eventually(async () => expect(await ownerOf(4)).toBeNull());
    // Redis counts from a moment after the request, in whole milliseconds.
    expect(performance.now() - sentAt).toBeGreaterThan(SHORT_HOLD_MS - 10);

    expect(await confirm(bob, ticket)).toMatchObject(refusal('expired'));
    expect((await cancel(bob, ticket)).body).toEqual({ cancelled: false });
    expect((await confirm(alice, await reserve(bob, 4))).status).toBe(200);
  });

  it('are confirmed by one of two instances that try at once', async () => {
    for (let seat = 100; seat < 120; seat += 1) {
      const ticket = await reserve(seat % 2 === 0 ? alice : bob, seat);
      const answers = await Promise.all([alice, bob, alice, bob].map((demo) => confirm(demo, ticket)));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 410, 410, 410]);
      for (const answer of answers.filter(({ status }) => status === 410))
        expect(answer).toMatchObject(refusal('used'));
    }
  });

  it('leave no ticket in Redis', async () => {
    const ticket = await reserve(alice, 5);
    const records = await redis.client.keys(`t1:${redis.prefix}*`);
    expect(records).not.toEqual([]);
    const stored = [...records, await ownerOf(5), ...(await redis.client.mget(...records))].join('\n');
    expect(stored).toContain('seat:5');
    expect(stored).not.toContain(ticket.slice(-10));
    await cancel(bob, ticket);
  });

  it('keep key and ticket out of refusals and logs', async () => {
    const ticket = await reserve(alice, 6_000_006);
    const answers = [
      await bob.post('/seats/6000006/reserve', {}),
      await confirm(bob, `${ticket}x`),
      await cancel(bob, ticket.slice(1)),
    ];
    await cancel(bob, ticket);
    answers.push(await confirm(alice, ticket));
    expect(answers.map(({ status }) => status)).toEqual([409, 400, 400, 410]);
    const texts = [...answers.map(({ text }) => text), alice.output, bob.output];
    for (const text of texts) {
      expect(text).not.toContain('6000006');
      expect(text).not.toContain(ticket.slice(-10));
    }
  });

  it.each([
    ['no ticket', {}],
    ['an empty ticket', { ticket: '' }],
    ['a number', { ticket: 7 }],
    ['a long text', { ticket: 'a'.repeat(201) }],
  ])('refuse %s', async (_, body) => {
    expect((await alice.post('/seats/confirm', body)).status).toBe(400);
    expect((await alice.post('/seats/cancel', body)).status).toBe(400);
  });

  it('refuse a seat that is no number, and name the parameter', async () => {
    const { status, text } = await alice.post('/seats/12A/reserve', {});
    expect(status).toBe(400);
    expect(text).toContain('seat must be a whole number');
  });

  it.each([0, 99, 3_600_001, '1000'])('refuse a hold of %j ms', async (holdMs) => {
    expect((await alice.post('/seats/7/reserve', { holdMs })).status).toBe(400);
    expect(await ownerOf(7)).toBeNull();
  });
});
