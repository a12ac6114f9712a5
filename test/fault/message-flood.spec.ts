import { eventually } from '../support/eventually.js';
import { expectBelow } from './support/bound.js';
import { Forger } from './support/forger.js';
import { PREFIX } from './support/lock-engine.js';
import type { FightPlan, Hold } from './support/loops.js';
import { useLockWorld } from './support/use-lock-world.js';
import { overlaps } from './support/witness.js';

// So many messages take more than half a minute on a busy machine.
import.meta.jest.setTimeout(120_000);

const MESSAGES = 100_000;
const FOR_MS = 5_000;
const PERMITS = 3;
/** The messages of this phase may leave less than 50 bytes each, because the process does no other work. */
const QUIET_MESSAGES = 30_000;
const MOST_GROWTH_BYTES = 1_500_000;

const common = { forMs: FOR_MS, holdMs: 6, ttl: '2s', wait: '30s' } as const;
const plans = {
  job: { ...common, key: 'job', callers: 2 },
  turns: { ...common, key: 'turns', callers: 2, fair: 'strict' },
  write: { ...common, key: 'doc', callers: 1, kind: 'write' },
  read: { ...common, key: 'doc', callers: 2, kind: 'read' },
  pool: { ...common, key: 'pool', callers: 2, kind: 'semaphore', permits: PERMITS },
  several: { ...common, key: ['one', 'other'], callers: 1 },
} as const satisfies Record<string, FightPlan>;

type PlanName = keyof typeof plans;

const mostAtOnce = (holds: readonly Hold[]): number =>
  Math.max(...holds.map(({ entered: at }) => holds.filter(({ entered, left }) => entered <= at && at < left).length));

const meet = (one: Hold, other: Hold): boolean => one.entered < other.left && other.entered < one.left;

describe.each([
  { who: 'a client that publishes', reads: false },
  { who: 'a client that publishes and reads', reads: true },
])('P22: 100,000 messages of $who', ({ reads }) => {
  const world = useLockWorld();

  it('delete no lock, let no two holders overlap, and leave no memory behind', async () => {
    const processes = await Promise.all([1, 2, 3].map(() => world.process()));
    const [holder, waiter] = [world.locks(), world.locks()];
    const steady = await Promise.all([
      holder.acquire('steady-job', { ttl: '5s' }),
      holder.acquire('steady-doc', { ttl: '5s', kind: 'read' }),
      holder.acquire('steady-pool', { ttl: '5s', kind: 'semaphore', permits: 1 }),
    ]);
    const waits = [
      waiter.acquire('steady-job', { ttl: '5s', wait: '1m' }),
      waiter.acquire('steady-doc', { ttl: '5s', wait: '1m', kind: 'write' }),
      waiter.acquire('steady-pool', { ttl: '5s', wait: '1m', kind: 'semaphore', permits: 1 }),
    ];
    let served = 0;
    for (const wait of waits) void wait.then(() => (served += 1));
    await world.client.set(`${PREFIX}foreign`, 'a-foreign-value');
    const keys = [
      'job',
      'turns',
      'doc',
      'pool',
      'one',
      'other',
      'steady-job',
      'steady-doc',
      'steady-pool',
      'foreign',
      'none',
    ];
    const forger = new Forger(world.server.url, [...keys.map((key) => PREFIX + key), 'x:job', '', 'a b\nc'], reads);
    await forger.listen();

    const holds = Object.fromEntries(Object.keys(plans).map((name) => [name, [] as Hold[]])) as Record<
      PlanName,
      Hold[]
    >;
    const refusals: unknown[] = [];
    const fights = processes.flatMap((process) =>
      (Object.keys(plans) as PlanName[]).map(async (name) => {
        const outcome = await process.do('fight', plans[name]);
        holds[name].push(...outcome.holds);
        refusals.push(outcome.refusals);
      }),
    );
    await forger.publish(MESSAGES);
    await Promise.all(fights);

    expect(refusals.filter((refused) => Object.keys(refused as object).length > 0)).toEqual([]);
    for (const name of ['job', 'turns', 'write', 'several'] as const) expect(overlaps(holds[name])).toEqual([]);
    expect(holds.write.filter((write) => holds.read.some((read) => meet(write, read)))).toEqual([]);
    expect(mostAtOnce(holds.pool)).toBeLessThanOrEqual(PERMITS);
    for (const name of Object.keys(plans) as PlanName[]) expect(holds[name].length).toBeGreaterThan(20);
    expect([served, steady.map((lease) => lease.isHeld())]).toEqual([0, [true, true, true]]);
    expect(await world.owner('steady-job')).toBe(steady[0].grant.ownerToken);
    expect([await world.owner('steady-doc'), await world.owner('steady-pool')]).toEqual(['readers', 'semaphore:1']);
    expect(await world.owner('foreign')).toBe('a-foreign-value');

    const before = await Promise.all(processes.map((process) => process.do('usage', undefined)));
    await forger.publish(QUIET_MESSAGES);
    const after = await Promise.all(processes.map((process) => process.do('usage', undefined)));
    after.forEach(({ memoryBytes }, i) => expectBelow(memoryBytes - before[i].memoryBytes, MOST_GROWTH_BYTES));

    for (const lease of steady) await lease.release();
    for (const wait of waits) await (await wait).release();
    await world.client.del(`${PREFIX}foreign`);
    await eventually(async () => expect(await world.client.keys(`${PREFIX}*`)).toEqual([]));
    expect(holder.events.concat(waiter.events).filter(({ type }) => type === 'lost')).toEqual([]);
  });
});
