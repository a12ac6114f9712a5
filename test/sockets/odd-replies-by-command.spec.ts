import { newProcessId } from '../../libs/distribute-lock/src/runtime/owner-token.js';
import type { LockName, LockStore, RenewAnswer } from '../../libs/distribute-lock/src/store/lock-store.js';
import { openMember } from '../../libs/distribute-lock/src/store/quorum/node-connection.js';
import { QuorumLockStore } from '../../libs/distribute-lock/src/store/quorum/quorum-lock-store.js';
import { RedisLockStore } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { PREFIX } from '../fault/support/lock-engine.js';
import { onCleanup } from '../support/cleanup.js';
import { startRedisServer, type RedisServer } from '../support/redis-server.js';
import { SCRIPTS } from './support/faults.js';
import { startFaultProxy } from '../support/proxy/fault-proxy.js';

/** `<code> <x> <y>`, the reply of a script to one command. */
const triple = (...words: readonly (number | string)[]): string =>
  `*${words.length}\r\n${words.map((word) => (typeof word === 'number' ? `:${word}\r\n` : `$${word.length}\r\n${word}\r\n`)).join('')}`;

const SHAPES: Readonly<Record<string, string>> = {
  'QUEUED (a MULTI is open)': '+QUEUED\r\n',
  OK: '+OK\r\n',
  null: '$-1\r\n',
  'an empty list': '*0\r\n',
  'a list that is too short': triple(1, 1),
  'a list that is too long': triple(1, 1, 0, 0),
  'a list of lists': '*3\r\n*1\r\n:1\r\n*1\r\n:1\r\n*1\r\n:1\r\n',
  'an unknown code': triple(77, 0, 0),
  'the mark of too few replicas': triple(12, 1, 0),
  'a code as text': triple('1', 1, 0),
  'a negative number': ':-5\r\n',
  'an unsafe integer': ':9007199254740993\r\n',
  'digits as text': '$2\r\n12\r\n',
  'an unsafe fencing token': triple(1, -7, 0),
  'a fencing token as text': triple(1, 'nan', 0),
  'words for numbers': triple(2, 'soon', 'x'),
  'a count as text': triple(7, 'many', 0),
  'a grant to a token of another process': triple(8, 5, `${'z'.repeat(22)}:1`),
};

const process = newProcessId();
const key = 'odd';
const name = { key, ownerToken: `${process}:1` };
const reader = { key, ownerToken: `${process}:1:r`, kind: 'read' } as const;
const permits = { key, ownerToken: `${process}:1P2:1`, kind: 'semaphore' } as const;
const wanted = { ttlMs: 1_000, block: 2 };
const next = (ownerToken: string) => ({ next: { ownerToken, ...wanted } });
const orThrow = (answer: RenewAnswer): RenewAnswer => {
  if (answer instanceof Error) throw answer;
  return answer;
};
const renewed = async (store: LockStore, lock: LockName): Promise<RenewAnswer> =>
  orThrow((await store.renew([{ ...lock, ttlMs: 1_000 }]))[0]);

type Ask = (store: LockStore) => PromiseLike<unknown>;

const COMMANDS: Readonly<Record<string, Ask>> = {
  'an acquire that waits': (store) => store.acquire({ ...name, ...wanted, wait: true }),
  'an acquire that does not wait': (store) => store.acquire({ ...name, ...wanted, wait: false }),
  'an acquire to read': (store) => store.acquire({ ...reader, ...wanted, wait: true }),
  'an acquire of permits': (store) => store.acquire({ ...permits, ...wanted, wait: true }),
  'an acquire of several keys': (store) => store.acquireAll!([{ ...name, ...wanted, wait: false }]),
  'a release': (store) => store.release(name),
  'a release with a next attempt': (store) => store.release({ ...name, ...next(`${process}:2`) }),
  'a release to its own process': (store) => store.release({ ...name, grantOwn: wanted }),
  'a release of a reader': (store) => store.release({ ...reader, ...next(`${process}:2:r`) }),
  'a release of permits': (store) => store.release({ ...permits, ...next(`${process}:2P2:1`) }),
  'a renewal': (store) => renewed(store, name),
  'a renewal of a reader': (store) => renewed(store, reader),
  'a renewal of permits': (store) => renewed(store, permits),
  'a downgrade': (store) => store.downgrade!({ ...name, readToken: reader.ownerToken, ttlMs: 1_000 }).then(orThrow),
};
/** What the script of exclusive locks replies to a grant, and to a release. */
const SINGLE_NUMBERS = [':5\r\n', ':0\r\n'];
/** Commands that other scripts execute. */
const OF_OTHER_SCRIPTS: Readonly<Record<string, Ask>> = {
  ...Object.fromEntries(
    Object.entries(COMMANDS).filter(([words]) => /reader|read$|permits|several|downgrade/.test(words)),
  ),
  'a release of a reader alone': (store) => store.release(reader),
  'a release of permits alone': (store) => store.release(permits),
};
const QUORUM_COMMANDS = ['an acquire that waits', 'an acquire that does not wait', 'a renewal'];

describe('A reply that no script returns', () => {
  let server: RedisServer;
  beforeAll(async () => (server = await startRedisServer()));

  async function connectionOf(open: (url: string) => LockStore) {
    const proxy = await startFaultProxy(server.port);
    const store = open(proxy.url);
    onCleanup(() => store.close());
    await store.connect();
    return { store, connection: await proxy.connection('commands') };
  }

  describe.each(Object.entries(COMMANDS))('to %s', (_, ask) => {
    it('fails, and the error contains the reply but no token', async () => {
      const { store, connection } = await connectionOf((url) => RedisLockStore.open(url, { prefix: PREFIX }));
      for (const [shape, reply] of Object.entries(SHAPES)) {
        connection.intercept(SCRIPTS, reply);
        const error: unknown = await Promise.resolve(ask(store)).then(
          (answer) => `${shape}: ${JSON.stringify(answer)}`,
          (reason: unknown) => reason,
        );
        expect(error).toMatchObject({ name: 'LockStoreError', passing: true, sent: true });
        expect(String(error)).toContain('a reply that this library does not know');
        expect(String(error)).not.toContain(process);
      }
    });
  });

  it.each(Object.entries(OF_OTHER_SCRIPTS))('fails a command that gets a single number: %s', async (_, ask) => {
    const { store, connection } = await connectionOf((url) => RedisLockStore.open(url, { prefix: PREFIX }));
    for (const reply of SINGLE_NUMBERS) {
      connection.intercept(SCRIPTS, reply);
      await expect(Promise.resolve(ask(store))).rejects.toThrow('a reply that this library does not know');
    }
  });

  describe.each(QUORUM_COMMANDS)('of a quorum, to %s', (command) => {
    it('counts as no vote', async () => {
      const { store, connection } = await connectionOf((url) => new QuorumLockStore([openMember(url, PREFIX)]));
      for (const reply of Object.values(SHAPES)) {
        connection.intercept(SCRIPTS, reply);
        await expect(Promise.resolve(COMMANDS[command](store))).rejects.toMatchObject({ name: 'LockStoreError' });
      }
    });
  });

  it('fails the connect', async () => {
    const proxy = await startFaultProxy(server.port);
    const store = RedisLockStore.open(proxy.url, { prefix: PREFIX });
    onCleanup(() => store.close());
    await store.connect();
    (await proxy.connection('commands')).intercept(SCRIPTS, SHAPES['QUEUED (a MULTI is open)']);
    await expect(store.connect()).rejects.toThrow('Redis gave a reply that this library does not know: "QUEUED".');
  });

  it('fails an inspection', async () => {
    const { store, connection } = await connectionOf((url) => RedisLockStore.open(url, { prefix: PREFIX }));
    for (const reply of ['+QUEUED\r\n', '*1\r\n:1\r\n', ':-5\r\n']) {
      connection.intercept(/^(get|pttl|zrange|zcard|time)/i, reply);
      await expect(store.inspect!(key)).rejects.toThrow('a reply that this library does not know');
    }
  });
});
