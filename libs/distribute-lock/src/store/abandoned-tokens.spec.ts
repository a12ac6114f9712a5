import { ManualClock } from '../../../../test/support/manual-clock.js';
import { Timers } from '../runtime/timers.js';
import { AbandonedTokens, type AbandonedName, finalUndoAt } from './abandoned-tokens.js';
import { type AnswerListener, LockStoreError } from './lock-store.js';
import { EXECUTION_LIMIT_MS } from './protocol.js';

interface Undo {
  readonly token: string;
  readonly at: number;
  readonly listener: AnswerListener<unknown>;
}

describe('AbandonedTokens', () => {
  const TTL_MS = 30_000;

  const make = () => {
    const clock = new ManualClock();
    const undos: Undo[] = [];
    const dropped: number[] = [];
    const state = { answers: true as boolean | undefined, settled: 0 };
    const tokens = new AbandonedTokens<AbandonedName>({
      clock,
      timers: new Timers(clock),
      undo: ({ ownerToken }, listener) => {
        undos.push({ token: ownerToken, at: clock.now(), listener });
        if (state.answers === undefined) return;
        const { answers } = state;
        queueMicrotask(() =>
          answers ? listener.answered(undefined) : listener.failed(new LockStoreError('away', true)),
        );
      },
      settled: () => (state.settled += 1),
      dropped: (count) => dropped.push(count),
    });
    const abandon = (count: number, finalAt = 0) => {
      for (let i = 0; i < count; i += 1) tokens.abandon({ ownerToken: `t${i}` }, TTL_MS, { finalAt });
    };
    return { clock, undos, dropped, state, tokens, abandon };
  };

  it('undoes a token once when every command of it was answered', async () => {
    const { clock, undos, state, tokens, abandon } = make();
    abandon(1);
    await clock.pass(60_000);
    expect(undos).toHaveLength(1);
    expect([tokens.size, state.settled]).toEqual([0, 1]);
  });

  it('undoes a token with an unanswered command at once, and again when no late execution can follow', async () => {
    const { clock, undos, tokens, abandon } = make();
    const start = clock.now();
    abandon(1, finalUndoAt(start));
    await clock.pass(60_000);
    expect(undos.map(({ at }) => at - start)).toEqual([0, EXECUTION_LIMIT_MS]);
    expect(tokens.size).toBe(0);
  });

  it('sends one undo only if the first one is late enough', async () => {
    const { clock, undos, state, abandon } = make();
    state.answers = false;
    abandon(1, finalUndoAt(clock.now()));
    await clock.pass(10_000);
    state.answers = true;
    undos.length = 0;
    await clock.pass(60_000);
    expect(undos).toHaveLength(1);
  });

  it('undoes a grant with an unanswered command again after its release', async () => {
    const { clock, undos, tokens } = make();
    const start = clock.now();
    tokens.granted('in trouble', finalUndoAt(start));
    await clock.pass(100);
    for (const ownerToken of ['in trouble', 'untroubled']) tokens.released({ ownerToken }, TTL_MS);
    expect(undos).toEqual([]);
    await clock.pass(60_000);
    expect(undos.map(({ token, at }) => [token, at - start])).toEqual([['in trouble', EXECUTION_LIMIT_MS]]);
  });

  it('sends no undo when a release follows the last moment of a late execution', async () => {
    const { clock, undos, tokens } = make();
    tokens.granted('t', finalUndoAt(clock.now()));
    await clock.pass(EXECUTION_LIMIT_MS);
    tokens.released({ ownerToken: 't' }, TTL_MS);
    await clock.pass(60_000);
    expect(undos).toEqual([]);
  });

  it('sends one undo for each step of the back-off while the store does not respond', async () => {
    const { clock, undos, state, tokens, abandon } = make();
    state.answers = false;
    abandon(1_000);
    await clock.pass(0);
    expect(undos).toHaveLength(64);
    undos.length = 0;
    for (let i = 0; i < 200; i += 1) {
      tokens.abandon({ ownerToken: `later ${i}` }, TTL_MS);
      await clock.pass(10);
    }
    expect(undos.length).toBeLessThan(14);
    state.answers = true;
    await clock.pass(500);
    expect(tokens.size).toBe(0);
    expect(undos.length).toBeLessThan(1_220);
  });

  it('has one undo of a token, and 64 of all, in flight', async () => {
    const { clock, undos, state, tokens, abandon } = make();
    state.answers = undefined;
    abandon(200);
    abandon(200);
    await clock.pass(5_000);
    expect(new Set(undos.map(({ token }) => token)).size).toBe(64);
    expect(undos).toHaveLength(64);
    state.answers = true;
    for (const { listener } of [...undos]) listener.answered(undefined);
    await clock.pass(0);
    expect(undos).toHaveLength(200);
    expect(tokens.size).toBe(0);
  });

  it('repeats an undo in flight that may be executed too early', async () => {
    const { clock, undos, state, tokens } = make();
    state.answers = undefined;
    tokens.abandon({ ownerToken: 't' }, TTL_MS);
    tokens.abandon({ ownerToken: 't' }, TTL_MS, { again: true });
    expect(undos).toHaveLength(1);
    state.answers = true;
    undos[0].listener.answered(undefined);
    await clock.pass(0);
    expect(undos).toHaveLength(2);
    expect(tokens.size).toBe(0);
  });

  it('forgets a token when none of its commands was sent', async () => {
    const { clock, undos, state, tokens, abandon } = make();
    state.answers = undefined;
    abandon(1);
    tokens.neverSent('t0');
    undos[0].listener.failed(new LockStoreError('not connected', true, { sent: false }));
    await clock.pass(60_000);
    expect(undos).toHaveLength(1);
    expect(tokens.size).toBe(0);
  });

  it('undoes a token until 10 s after its ttl', async () => {
    const { clock, undos, state, tokens, abandon } = make();
    state.answers = false;
    abandon(100);
    await clock.pass(TTL_MS + 9_000);
    expect(tokens.size).toBe(100);
    await clock.pass(2_000);
    expect(tokens.size).toBe(0);
    undos.length = 0;
    await clock.pass(10_000);
    expect(undos).toEqual([]);
  });

  it('drops the oldest beyond 10,000 tokens, and reports them once a minute', async () => {
    const { clock, dropped, state, tokens, abandon } = make();
    state.answers = false;
    abandon(10_300);
    expect(tokens.size).toBe(10_000);
    await clock.pass(1_000);
    expect(dropped).toEqual([300]);
    for (let i = 0; i < 50; i += 1) {
      tokens.abandon({ ownerToken: `late ${i}` }, 10 * TTL_MS);
      await clock.pass(100);
    }
    expect(dropped).toEqual([300]);
    await clock.pass(60_000);
    expect(dropped).toEqual([300, 50]);
  });

  it('undoes a token passed to abandonLater() once, when its time has passed', async () => {
    const { clock, undos, tokens, abandon } = make();
    const start = clock.now();
    tokens.abandonLater({ ownerToken: 't0' }, TTL_MS, 5_000);
    await clock.pass(4_990);
    abandon(1);
    expect(tokens.size).toBe(0);
    await clock.pass(60_000);
    expect(undos.map(({ at }) => at - start)).toEqual([5_000]);
    expect(tokens.size).toBe(0);
  });

  it('leaves a token passed to leaveToTtl() to its ttl, and undoes nothing after close()', async () => {
    const { clock, undos, state, tokens, abandon } = make();
    tokens.leaveToTtl('t0', TTL_MS);
    abandon(1);
    expect(undos).toEqual([]);
    state.answers = false;
    tokens.abandon({ ownerToken: 'other' }, TTL_MS);
    tokens.close();
    tokens.abandon({ ownerToken: 'third' }, TTL_MS);
    await clock.pass(60_000);
    expect(undos).toHaveLength(1);
  });
});
