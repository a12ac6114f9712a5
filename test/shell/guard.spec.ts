import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { monotonicMs } from '../support/monotonic.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import {
  begun,
  ended,
  eventuallyTrue,
  isAlive,
  RunProcess,
  signalOf,
  WORKING,
  type WorkFacts,
} from './support/run-processes.js';
import { rounds } from './support/rounds.js';
import { StallWatch } from '../support/stall-watch.js';

import.meta.jest.setTimeout(600_000);

const TTL_MS = 7_000;
const TIMES = ['--ttl', `${TTL_MS}ms`, '--kill-after', '1s'];
/** The guard, or the wrapper, ends the command within this time after the end of the guard. */
const GUARD_BOUND_MS = 1_000;

/** A command under the lock, and a second one that waits for it. */
interface Pair {
  readonly key: string;
  readonly holder: RunProcess;
  readonly command: WorkFacts;
  /** The facts of the first command after its end, and of the second one after its begin. */
  facts(): Promise<readonly [first: WorkFacts, second: WorkFacts]>;
  /** Ends the second command. */
  end(): Promise<void>;
}

describe('The command of `run` has ended before another holder begins', () => {
  let redis: RedisServer;
  let folder: string;
  let keys = 0;

  beforeEach(async () => {
    [redis, folder] = await Promise.all([startRedisServer(), temporaryFolder('shell-guard-')]);
  });

  afterEach(() => redis.stop());

  /** Every second command ignores TERM, so that only KILL ends it. */
  async function startPair(number: number, flags: readonly string[] = []): Promise<Pair> {
    const key = `key-${(keys += 1)}`;
    const [first, second] = ['first', 'second'].map((name) => join(folder, `${key}-${name}`));
    const ignores = number % 2 === 1 ? ['--ignore-term'] : [];
    const words = ['--', process.execPath, WORKING, first, ...ignores];
    const holder = RunProcess.start(redis.url, ['run', key, ...TIMES, ...flags, ...words]);
    const command = await begun(first);
    const follower = RunProcess.start(redis.url, ['run', key, '-v', ...TIMES, '--', process.execPath, WORKING, second]);
    await follower.printed('requests the lock');
    const facts = async () => {
      const after = await begun(second);
      return [await ended(first), after] as const;
    };
    return { key, holder, command, facts, end: async () => void (await follower.kill('SIGTERM')) };
  }

  /** When the key ends unless it is renewed, on the clock of the server. */
  const keyEnd = (key: string): Promise<number> =>
    redis.run(async (client) => Number(await client.call('PEXPIRETIME', `lock:${key}`)));

  async function expectOrder(pair: Pair): Promise<void> {
    const [first, second] = await pair.facts();
    expect(first.lastAt).toBeLessThan(second.beganAt);
    await pair.end();
  }

  it('when the wrapper gets SIGKILL', () =>
    rounds(async (number) => {
      const pair = await startPair(number);
      await pair.holder.kill('SIGKILL');
      const endsAt = await keyEnd(pair.key);
      const [first] = await pair.facts();
      // No process renews the key now.
      if (endsAt > 0) expect(first.lastWallMs).toBeLessThan(endsAt);
      await expectOrder(pair);
    }));

  it('when the wrapper is stopped for longer than the ttl', () =>
    rounds(async (number) => {
      const pair = await startPair(number);
      pair.holder.pause();
      const endsAt = await keyEnd(pair.key);
      const [first] = await pair.facts();
      expect(first.lastWallMs).toBeLessThan(endsAt);
      pair.holder.resume();
      expect(await pair.holder.exited).toEqual({ code: 76, signal: null });
      await expectOrder(pair);
    }));

  it('when Redis is stopped for longer than the ttl', async () => {
    const pairs: Pair[] = [];
    await rounds(async (number) => void pairs.push(await startPair(number)));
    redis.pause();
    const pausedAt = monotonicMs();
    // Redis grants nothing before it continues.
    await Promise.all(
      pairs.map(({ command: { pid } }) => eventuallyTrue(() => !isAlive(pid), 'the command has ended')),
    );
    await eventuallyTrue(() => monotonicMs() - pausedAt > TTL_MS, 'Redis is stopped for longer than the ttl');
    redis.resume();
    for (const pair of pairs) {
      expect(await pair.holder.exited).toEqual({ code: 76, signal: null });
      await expectOrder(pair);
    }
  });

  it('within a second, with exit code 76, when the guard gets SIGKILL', () =>
    rounds(async (number) => {
      const pair = await startPair(number);
      const guard = await pair.holder.guardPid();
      const stalls = new StallWatch();
      const killedAt = monotonicMs();
      signalOf(guard, 'SIGKILL');
      expect(await pair.holder.exited).toEqual({ code: 76, signal: null });
      const [{ lastAt }] = await pair.facts();
      expect(lastAt - killedAt).toBeLessThan(GUARD_BOUND_MS + 4 * stalls.stop());
      await expectOrder(pair);
    }));

  it('when the guard is stopped and Redis does not respond', async () => {
    const pairs: Pair[] = [];
    await rounds(async (number) => {
      const pair = await startPair(number);
      signalOf(await pair.holder.guardPid(), 'SIGSTOP');
      pairs.push(pair);
    });
    redis.pause();
    await Promise.all(
      pairs.map(({ command: { pid } }) => eventuallyTrue(() => !isAlive(pid), 'the command has ended')),
    );
    redis.resume();
    for (const pair of pairs) {
      expect(await pair.holder.exited).toEqual({ code: 76, signal: null });
      await expectOrder(pair);
    }
  });

  it.each(['guard', 'wrapper', 'neither'] as const)('at --max-hold, while this one is stopped: %s', (stopped) =>
    rounds(async (number) => {
      const pair = await startPair(number, ['--max-hold', '10s']);
      if (stopped === 'guard') signalOf(await pair.holder.guardPid(), 'SIGSTOP');
      if (stopped === 'wrapper') pair.holder.pause();
      await eventuallyTrue(() => !isAlive(pair.command.pid), 'the command has ended');
      pair.holder.resume();
      expect(await pair.holder.exited).toEqual({ code: 76, signal: null });
      await expectOrder(pair);
    }),
  );

  it('when the wrapper gets SIGKILL right after the start of the command', () =>
    rounds(async (number) => {
      const file = join(folder, `early-${number}`);
      const key = `early-${number}`;
      const words = ['run', key, '-v', ...TIMES, '--', process.execPath, WORKING, file];
      const holder = RunProcess.start(redis.url, words);
      await holder.printed('has the lock');
      await delay(Math.random() * 40);
      await holder.kill('SIGKILL');
      const second = join(folder, `early-${number}-second`);
      const follower = RunProcess.start(redis.url, ['run', key, ...TIMES, '--', process.execPath, WORKING, second]);
      const { beganAt } = await begun(second);
      await follower.kill('SIGTERM');
      // The kill may have come before the first command.
      if (existsSync(file)) expect((await ended(file)).lastAt).toBeLessThan(beganAt);
    }));
});
