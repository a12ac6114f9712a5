import { COMMAND_LIMIT_MS } from '../../../distribute-lock/src/store/redis/link.js';
import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { checkInboxScript } from '../../../distribute-lock/src/store/generated/lua-scripts.js';
import type { AcquireOptions } from 'nestjs-distribute-lock/core';

import type { Check, Examination } from './check.js';
import { onEachServer, errorText } from './check.js';
import { failed, type Finding, ok, skipped, warning } from './finding.js';
import { LockSession } from './lock-session.js';
import { isReply, type Server } from './target.js';

const NO_SCRIPTS = 'Use a server that allows EVAL and EVALSHA, and grant the user "+eval" and "+evalsha".';

export const scripts: Check = {
  about: 'Whether the server runs scripts (`EVAL`), of which every lock consists.',
  faults: 'Fails when the server refuses them.',
  needs: ['topology'],
  run: (examination) =>
    onEachServer(examination.target, async (server) => {
      const key = examination.target.keys.lock(await examination.locks.keyOn(server));
      try {
        const reply = await server.client.eval('return 1', 1, key);
        return reply === 1 ? ok('The server runs scripts.') : failed(`A script returned ${String(reply)}.`, NO_SCRIPTS);
      } catch (error) {
        if (!isReply(error)) throw error;
        return failed(`The server refuses EVAL: ${errorText(error)}. Every lock needs it.`, NO_SCRIPTS);
      }
    }),
};

/** Acquires, renews and releases a lock of this kind. */
export const kind = (name: string, options: AcquireOptions): Check => ({
  about: `Acquires, renews and releases ${name} on a random key.`,
  faults: 'Fails when Redis refuses it.',
  needs: ['role', 'topology', 'scripts'],
  async run({ target, locks }) {
    if (target.topology === 'quorum' && options.kind !== 'exclusive')
      return skipped('A quorum has exclusive locks only.');
    try {
      const fencingToken = await locks.cycle(options);
      return ok(`Acquired, renewed and released; fencing token ${fencingToken}.`);
    } catch (error) {
      const fix = 'Look at the rows above and below: rights, memory, persistence.';
      return failed(errorText(error instanceof Error ? (error.cause ?? error) : error) + '.', fix);
    }
  },
});

const MESSAGE_LIMIT_MS = 10_000;

export const messages: Check = {
  about: 'Publishes a message in a script, and receives it on the inbox of a process.',
  faults:
    'Fails when the server refuses `PUBLISH` or `SUBSCRIBE`, or the message does not arrive: waiting callers then poll.',
  needs: ['role', 'topology', 'scripts'],
  run: (examination) => onEachServer(examination.target, (server) => messageOn(examination, server)),
};

async function messageOn({ target, layout, locks }: Examination, server: Server): Promise<Finding> {
  const { keys, topology, servers } = target;
  const lockKey = keys.lock(await locks.keyOn(server));
  const process = randomBytes(9).toString('base64url');
  const channel = keys.channel(process);
  const shard = layout.sharded ? keys.shardChannel(process, lockKey) : undefined;
  // The nodes of a Cluster send plain messages to each other.
  const receiver = (topology === 'Cluster' ? servers[0] : server).client.duplicate();
  receiver.on('error', () => undefined);
  try {
    await receiver.connect();
    const arrived = new Promise((resolve) => receiver.on('message', resolve).on('smessage', resolve));
    const grant = (right: string): string => `Grant the user "${right}" and "&${keys.channels}".`;
    const refusal = await refused(shard === undefined ? receiver.subscribe(channel) : receiver.ssubscribe(shard));
    if (refusal !== undefined) return failed(`The server refuses SUBSCRIBE: ${refusal}. ${POLL}`, grant('+subscribe'));
    const sentAt = performance.now();
    const channels = shard === undefined ? [channel] : [channel, shard];
    const reply = await server.client.eval(checkInboxScript.lua, 1, lockKey, 'doctor', ...channels);
    if (typeof reply === 'string') {
      const text = errorText(new Error(reply));
      return failed(`The server refuses PUBLISH in a script: ${text}. ${POLL}`, grant('+publish'));
    }
    if (!(await isLate(arrived))) return ok(`A message arrived after ${(performance.now() - sentAt).toFixed(1)} ms.`);
    return failed(
      `No message arrives, although the server accepts SUBSCRIBE and PUBLISH. ${POLL}`,
      'Connect to the server directly, or use a proxy that supports publish/subscribe.',
    );
  } finally {
    receiver.disconnect();
  }
}

/** The text with which the server refuses a command; `undefined` if it accepts it. */
async function refused(answer: Promise<unknown>): Promise<string | undefined> {
  try {
    await answer;
    return undefined;
  } catch (error) {
    if (isReply(error)) return errorText(error);
    throw error;
  }
}

const POLL = 'Waiting callers poll up to 10 times per second.';

async function isLate(arrived: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    // Bytes that arrived during a pause of this process are read first.
    timer = setTimeout(() => setImmediate(() => setImmediate(() => resolve(true))), MESSAGE_LIMIT_MS);
  });
  try {
    return await Promise.race([arrived.then(() => false), late]);
  } finally {
    clearTimeout(timer);
  }
}

export const handOver: Check = {
  about: 'Lets a second process wait for a held lock, and releases it.',
  faults: 'Fails when the waiting process does not get the lock within 30 s.',
  needs: ['role', 'topology', 'scripts', 'exclusive lock'],
  async run({ locks }) {
    const [holder, waiter] = [await locks.of(0), await locks.of(1)];
    const key = LockSession.key();
    const options = { name: 'doctor', ttl: '30s' } as const;
    const lease = await holder.acquire(key, options);
    let releasedAt = 0;
    const waiting = waiter.acquire(key, { ...options, wait: '30s' });
    waiting.catch(() => undefined);
    try {
      await new Promise((resolve) => setTimeout(resolve, 300));
    } finally {
      releasedAt = performance.now();
      await lease.release();
    }
    try {
      const next = await waiting;
      const tookMs = performance.now() - releasedAt;
      await next.release();
      return ok(`A waiting process got the lock ${tookMs.toFixed(1)} ms after its release.`);
    } catch (error) {
      return failed(
        `A waiting process did not get the lock: ${errorText(error)}.`,
        'Look at the rows above and below.',
      );
    }
  },
};

const CALLS = 100;
const SLOW_MS = 25;
const ALL_CALLS_LIMIT_MS = 20_000;

export const latency: Check = {
  about: 'The time of 100 script calls, one after the other.',
  faults:
    'Warns when the median is above 25 ms. Fails when one call in twenty takes longer than 800 ms, and this process did not pause.',
  needs: ['scripts'],
  run: ({ target, locks }) =>
    onEachServer(target, async (server) => {
      const key = target.keys.lock(await locks.keyOn(server));
      const stalls = monitorEventLoopDelay({ resolution: 5 });
      stalls.enable();
      const times: number[] = [];
      const startedAt = performance.now();
      while (times.length < CALLS && performance.now() - startedAt < ALL_CALLS_LIMIT_MS) {
        const sentAt = performance.now();
        await server.client.eval('return 1', 1, key);
        times.push(performance.now() - sentAt);
      }
      stalls.disable();
      times.sort((a, b) => a - b);
      const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))];
      const [median, slow, most, stallMs] = [at(0.5), at(0.95), at(1), stalls.max / 1e6];
      const text =
        `${times.length} calls: median ${median.toFixed(2)} ms, 99 % below ${at(0.99).toFixed(2)} ms, longest ${most.toFixed(2)} ms` +
        ` (this process paused for up to ${stallMs.toFixed(0)} ms).`;
      const fix = 'Look at SLOWLOG and the load of the server, and at the network.';
      if (slow > COMMAND_LIMIT_MS && stallMs < slow / 2)
        return failed(`${text} The library gives up a command after 800 ms.`, fix);
      return median > SLOW_MS ? warning(`${text} Each lock takes at least two such calls.`, fix) : ok(text);
    }),
};
