import { eventually } from '../support/eventually.js';
import type { Held, LockProcess, Refusal } from './support/lock-process.js';
import type { Hold } from './support/loops.js';
import { useLockWorld } from './support/use-lock-world.js';
import { fencingTokensRise, overlaps } from './support/witness.js';

const ttl = '20s';
/** Rounds of different keys run beside each other. */
const LANES = 4;
/** In one of so many rounds, another process waits for the lock while it travels. */
const WAITS_IN_ONE_OF = 4;

const world = useLockWorld();

/** The lease of one process, and the refusal of the other. */
interface Raced {
  readonly winner: LockProcess;
  readonly lease: Held;
  readonly refusal: Refusal;
}

/** Starts the process that detaches, the two that attach, and one that waits. */
async function startAll(): Promise<[LockProcess, LockProcess, LockProcess, LockProcess]> {
  return Promise.all([world.process(), world.process(), world.process(), world.process()]);
}

/** Both processes attach the ticket at once; another one sends first in every second round. */
async function race(processes: readonly LockProcess[], ticket: string, round: number): Promise<Raced> {
  const inOrder = round % 2 === 0 ? processes : processes.toReversed();
  const results = await Promise.allSettled(inOrder.map((process) => process.do('attach', { ticket, ttl })));
  const won = results.findIndex(({ status }) => status === 'fulfilled');
  const [first, second] = won === 0 ? results : results.toReversed();
  if (first?.status !== 'fulfilled' || second?.status !== 'rejected')
    throw new Error(`Round ${round}: ${results.map(({ status }) => status).join(', ')}`);
  return { winner: inOrder[won], lease: first.value, refusal: second.reason as Refusal };
}

/** Runs `rounds` rounds in lanes, each with its own key. Resolves with the results of each lane. */
async function inLanes<T>(rounds: number, run: (key: string, round: number) => Promise<T>): Promise<T[][]> {
  const lane = async (): Promise<T[]> => {
    const key = world.newKey();
    const results: T[] = [];
    for (let round = 0; round < rounds / LANES; round += 1) results.push(await run(key, round));
    return results;
  };
  return Promise.all(Array.from({ length: LANES }, lane));
}

/** How often each process has won. */
const wins = (processes: readonly LockProcess[], all: readonly { readonly winner: LockProcess }[]): number[] =>
  processes.map((process) => all.filter(({ winner }) => winner === process).length);

describe('P32: a ticket that two processes attach at once', () => {
  it('continues in one of them, in each of 1,000 races, and no hold overlaps with another', async () => {
    const [from, one, two, third] = await startAll();
    const lanes = await inLanes(1_000, async (key, round) => {
      const first = await from.do('acquire', { key, ttl, wait: ttl });
      const waits = round % WAITS_IN_ONE_OF === 0;
      const waiting = waits ? third.do('acquire', { key, ttl, wait: ttl }) : undefined;
      if (waits && round % (2 * WAITS_IN_ONE_OF) === 0)
        await eventually(async () => expect(await world.waiting(key)).toBe(1));
      const detached = await from.do('detach', { lease: first.lease, ttl });
      const { winner, lease, refusal } = await race([one, two], detached.ticket, round);
      // The time before the command of the release.
      const { at: left } = await winner.do('isHeld', lease);
      await winner.do('release', lease);
      const holds: Hold[] = [
        { entered: first.at, left: detached.from, fencingToken: first.fencingToken },
        { entered: lease.at, left, fencingToken: lease.fencingToken },
      ];
      if (waiting !== undefined) {
        const last = await waiting;
        const end = await third.do('isHeld', last);
        await third.do('release', last);
        holds.push({ entered: last.at, left: end.at, fencingToken: last.fencingToken });
      }
      return { winner, refusal, holds };
    });
    const all = lanes.flat();
    expect(all).toHaveLength(1_000);
    for (const { refusal } of all) expect(refusal).toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
    for (const lane of lanes) {
      const holds = lane.flatMap((each) => each.holds);
      expect(overlaps(holds)).toEqual([]);
      expect(fencingTokensRise(holds)).toBe(true);
    }
    for (const count of wins([one, two], all)) expect(count).toBeGreaterThan(0);
  }, 120_000);

  it('continues in one of them with all of its keys, in each of 100 races', async () => {
    const [from, one, two, third] = await startAll();
    const lanes = await inLanes(100, async (key, round) => {
      const keys = [key, `${key}-b`, `${key}-c`];
      const first = await from.do('acquireMultiKey', { keys, ttl, wait: ttl });
      const waiting = round % 2 === 0 ? third.do('acquire', { key: keys[round % 3], ttl, wait: ttl }) : undefined;
      const { ticket, from: leftAt } = await from.do('detach', { lease: first.lease, ttl });
      const { winner, lease, refusal } = await race([one, two], ticket, round);
      expect(Object.keys(lease.fencingTokens)).toEqual(keys);
      for (const each of keys)
        await expect(from.do('acquire', { key: each })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
      const { at: left, held } = await winner.do('isHeld', lease);
      expect(held).toBe(true);
      await winner.do('release', lease);
      const last = await waiting;
      if (last !== undefined) {
        expect(last.at).toBeGreaterThan(left);
        expect(last.fencingToken).toBeGreaterThan(lease.fencingTokens[keys[round % 3]]);
        await third.do('release', last);
      }
      const holdOf = (each: string): Hold[] => [
        { entered: first.at, left: leftAt, fencingToken: first.fencingTokens[each] },
        { entered: lease.at, left, fencingToken: lease.fencingTokens[each] },
      ];
      return { winner, refusal, holds: keys.map(holdOf) };
    });
    for (const { refusal } of lanes.flat()) expect(refusal).toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
    for (const lane of lanes) {
      for (const i of [0, 1, 2]) {
        const holds = lane.flatMap((each) => each.holds[i]);
        expect(overlaps(holds)).toEqual([]);
        expect(fencingTokensRise(holds)).toBe(true);
      }
    }
  }, 120_000);

  it('continues in one of them with its permits, in each of 100 races', async () => {
    const [from, one, two, third] = await startAll();
    const options = { kind: 'semaphore', permits: 3, ttl } as const;
    const lanes = await inLanes(100, async (key, round) => {
      const beside = await third.do('acquire', { key, ...options, wait: ttl });
      const first = await from.do('acquire', { key, ...options, weight: 2, wait: ttl });
      const waiting = third.do('acquire', { key, ...options, weight: 2, wait: ttl });
      const { ticket, from: leftAt } = await from.do('detach', { lease: first.lease, ttl });
      const { winner, lease, refusal } = await race([one, two], ticket, round);
      expect(lease.fencingToken).toBeGreaterThan(first.fencingToken);
      // One permit would be free for this call, if the permits had been moved twice or not at all.
      await third.do('release', beside);
      await (round % 2 === 0 ? expectContended(from, key, options) : undefined);
      const { at: left, held } = await winner.do('isHeld', lease);
      expect(held).toBe(true);
      await winner.do('release', lease);
      const last = await waiting;
      expect(last.at).toBeGreaterThan(left);
      expect(last.fencingToken).toBeGreaterThan(lease.fencingToken);
      await third.do('release', last);
      return {
        winner,
        refusal,
        holds: [
          { entered: first.at, left: leftAt, fencingToken: first.fencingToken },
          { entered: lease.at, left, fencingToken: lease.fencingToken },
          { entered: last.at, left: last.at, fencingToken: last.fencingToken },
        ],
      };
    });
    for (const { refusal } of lanes.flat()) expect(refusal).toMatchObject({ code: 'LEASE_LOST', reason: 'used' });
    for (const lane of lanes) {
      const holds = lane.flatMap((each) => each.holds);
      expect(overlaps(holds)).toEqual([]);
      expect(fencingTokensRise(holds)).toBe(true);
    }
  }, 120_000);
});

/** Two of three permits are in use, so there are too few for another two. */
async function expectContended(process: LockProcess, key: string, options: object): Promise<void> {
  await expect(process.do('acquire', { key, ...options, weight: 2 })).rejects.toMatchObject({ code: 'LOCK_CONTENDED' });
}

describe('P32: a ticket that one process attaches while another cancels it', () => {
  it.each([
    ['one key', 1],
    ['three keys', 3],
  ])(
    'is either continued or cancelled, in each of 100 races: %s',
    async (_, count) => {
      const [from, one, two, third] = await startAll();
      const lanes = await inLanes(100, async (key, round) => {
        const keys = Array.from({ length: count }, (_key, i) => `${key}-${i}`);
        const first = await from.do('acquireMultiKey', { keys, ttl, wait: ttl });
        const { ticket } = await from.do('detach', { lease: first.lease, ttl });
        const waiting = third.do('acquireMultiKey', { keys, ttl, wait: ttl });
        const cancel = (): Promise<{ cancelled: boolean }> => two.do('cancel', { ticket });
        const early = round % 2 === 0 ? cancel() : undefined;
        const attach = one.do('attach', { ticket, ttl });
        const [attached, cancelled] = await Promise.allSettled([attach, early ?? cancel()]);
        if (cancelled.status === 'rejected') throw cancelled.reason;
        const isCancelled = cancelled.value.cancelled;
        let token = first.fencingToken;
        if (attached.status === 'fulfilled') {
          const lease = attached.value;
          expect(isCancelled).toBe(false);
          expect(await one.do('isHeld', lease)).toMatchObject({ held: true });
          expect(lease.fencingToken).toBeGreaterThan(token);
          token = lease.fencingToken;
          await one.do('release', lease);
        } else {
          expect(isCancelled).toBe(true);
          expect(attached.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'released' });
        }
        const last = await waiting;
        expect(last.fencingToken).toBeGreaterThan(token);
        await third.do('release', last);
        return isCancelled;
      });
      const all = lanes.flat();
      expect(all).toHaveLength(100);
      for (const outcome of [true, false]) expect(all).toContain(outcome);
    },
    120_000,
  );
});
