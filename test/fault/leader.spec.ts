import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';
import { type SecondProcess, startProcess } from '../support/second-process.js';

type Received = {
  ready: undefined;
  began: { token: number; at: number };
  ended: { token: number; at: number };
  proven: number;
  unblocked: { isLeader: boolean; aborted: boolean };
};
type Candidate = SecondProcess<Received, { block: number }>;

interface Term {
  readonly candidate: Candidate;
  readonly token: number;
  readonly began: number;
  lastProven: number;
}

const TTL_MS = 1_000;

/** Larger by LEADER_TERMS for a long run. */
const ROUNDS = Math.ceil(Number(process.env['LEADER_TERMS'] ?? 4) / 4);

describe('a leader', () => {
  it('is followed by another one after SIGTERM, SIGKILL, SIGSTOP and a blocked event loop, without an overlap', async () => {
    const server = await startRedisServer();
    const terms: Term[] = [];

    const stand = async (): Promise<Candidate> => {
      const candidate: Candidate = startProcess(new URL('./support/leader.child.ts', import.meta.url), {
        REDIS_URL: server.url,
      });
      let mine: Term | undefined;
      candidate.on('began', ({ token, at }) => terms.push((mine = { candidate, token, began: at, lastProven: at })));
      candidate.on('proven', (at) => void (mine!.lastProven = at));
      await candidate.once('ready');
      return candidate;
    };
    /** The term that begins after `count` terms. */
    const next = (count: number): Promise<Term> =>
      eventually(() => {
        expect(terms.length).toBeGreaterThan(count);
        return terms[count];
      }, 10_000);

    await Promise.all([stand(), stand(), stand()]);
    let present = await next(0);
    const handOvers: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const ended = present.candidate.once('ended');
      const count = terms.length;
      void present.candidate.kill('SIGTERM');
      const { at } = await ended;
      present = await next(count);
      handOvers.push(present.began - at);

      const killedAt = Date.now();
      void present.candidate.kill('SIGKILL');
      present = await next(terms.length);
      expect(present.began - killedAt).toBeLessThan(TTL_MS + 1_000);
      await Promise.all([stand(), stand()]);

      const paused = present.candidate;
      const since = terms.length;
      paused.pause();
      present = await next(since);
      const signalled = paused.once('ended');
      paused.resume();
      await signalled;

      const blocked = present.candidate;
      const before = terms.length;
      blocked.send('block', 2 * TTL_MS);
      const after = await blocked.once('unblocked');
      expect(after).toEqual({ isLeader: false, aborted: true });
      present = await next(before);
    }
    const tokens = terms.map(({ token }) => token);
    expect(tokens).toEqual(tokens.toSorted((one, other) => one - other));
    expect(new Set(tokens).size).toBe(tokens.length);
    terms.slice(1).forEach(({ began }, index) => expect(began).toBeGreaterThanOrEqual(terms[index].lastProven));
    const median = handOvers.toSorted((one, other) => one - other)[Math.floor(handOvers.length / 2)];
    expect(median).toBeLessThan(200);
  }, 600_000);
});
