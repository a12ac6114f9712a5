import { setTimeout as sleep } from 'node:timers/promises';

import { Cluster, Redis, type RedisOptions } from 'ioredis';

import { connectStore } from '../../libs/distribute-lock/src/locks/connect-store.js';
import type { RedisLockStoreSettings } from '../../libs/distribute-lock/src/store/redis/redis-lock-store.js';
import { locksOn, PREFIX } from '../fault/support/lock-engine.js';
import { cluster, onePrimary, quorum, sentinel, type StartTopology } from '../fault/support/topology.js';
import { useTopology } from '../fault/support/use-topology.js';
import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';

const USER = 'locks';
const TTL_MS = 4_000;
const DOOR = { name: 'LockModule', log: console };

type Credentials = NonNullable<RedisLockStoreSettings['credentials']>;
type Options = Pick<RedisOptions, 'username' | 'password'>;

/** The values of the options `connection` and `credentials`. */
interface Given {
  readonly connection: unknown;
  readonly credentials?: Credentials | undefined;
  /** Follows the new password, unless the function does. */
  readonly rotated?: (password: string) => void;
}

type Configured = ReturnType<ReturnType<typeof useTopology>['connectionWith']>;

/** The parts of the options that contain the credentials, of each server. */
const partsOf = (configured: Configured): Options[] => {
  if (Array.isArray(configured)) return configured as Options[];
  return 'options' in (configured as object)
    ? [(configured as { options: { redisOptions: Options } }).options.redisOptions]
    : [configured as Options];
};

const clientOf = (options: unknown): Redis | Cluster => {
  const { cluster: nodes, options: ofCluster } = options as { cluster?: []; options?: object };
  const client = nodes === undefined ? new Redis(options as RedisOptions) : new Cluster(nodes, ofCluster);
  client.on('error', () => undefined);
  onCleanup(() => client.status !== 'end' && client.disconnect());
  return client;
};

const redisOptionsOf = (client: Redis | Cluster): Options =>
  client instanceof Cluster ? client.options.redisOptions! : client.options;

const change =
  (parts: readonly Options[]) =>
  (password: string): void =>
    parts.forEach((part) => Object.assign(part, { password }));

/** Each way to give changing credentials. `current` has the present password. */
const WAYS: Readonly<Record<string, (configured: Configured, current: () => string) => Given>> = {
  'the option "credentials"': (connection, current) => ({
    connection,
    credentials: () => ({ username: USER, password: current() }),
  }),
  'the option "credentials", asynchronous': (connection, current) => ({
    connection,
    credentials: async () => {
      await sleep(20);
      return { username: USER, password: current() };
    },
  }),
  'the option "credentials" beside an application\'s client': (configured, current) => ({
    connection: Array.isArray(configured) ? configured.map(clientOf) : clientOf(configured),
    credentials: async () => ({ username: USER, password: current() }),
  }),
  "changed options of an application's client": (configured) => {
    const clients = (Array.isArray(configured) ? configured : [configured]).map(clientOf);
    return {
      connection: Array.isArray(configured) ? clients : clients[0],
      rotated: change(clients.map(redisOptionsOf)),
    };
  },
  'a changed options object': (connection) => ({ connection, rotated: change(partsOf(connection)) }),
};

const resp2: StartTopology = async (config) => {
  const topology = await onePrimary(config);
  return {
    ...topology,
    connection: (ways, identity) => ({ ...(topology.connection(ways, identity) as RedisOptions), protocol: 2 }),
  };
};

const TOPOLOGIES: Readonly<Record<string, StartTopology>> = {
  'one primary': onePrimary,
  'one primary, RESP2': resp2,
  Sentinel: sentinel,
  Cluster: cluster,
  quorum,
};

describe.each(Object.entries(TOPOLOGIES))('Locks continue when the password changes, on %s, with', (_, start) => {
  const world = useTopology(start);
  let rotations = 0;
  let password = '';

  /** Sets another password, and closes every connection of the user. */
  async function rotate(rotated: (password: string) => void = () => undefined): Promise<void> {
    password = `secret-${(rotations += 1)}`;
    rotated(password);
    await world.onAll(async (redis) => {
      await redis.call('ACL', 'SETUSER', USER, 'on', 'resetpass', `>${password}`, '~*', '&*', '+@all');
      await redis.call('CLIENT', 'KILL', 'USER', USER);
    });
  }

  it.each(Object.entries(WAYS))(
    '%s',
    async (__, way) => {
      await rotate();
      const configured = world.connectionWith({ username: USER, password });
      const { connection, credentials, rotated } = way(configured, () => password);
      const store = connectStore('connection', connection, { prefix: PREFIX, credentials }, DOOR);
      const locks = locksOn(store);
      onCleanup(() => locks.engine.close());
      await locks.engine.connect();
      const lease = await locks.acquire(world.newKey(), { ttl: TTL_MS, wait: '5s' });

      for (let i = 0; i < 2; i += 1) {
        await rotate(rotated);
        await (await locks.acquire(world.newKey(), { wait: '5s' })).release();
        await sleep(500);
      }
      const subscriber = { message: () => undefined, resubscribed: () => undefined };
      const processId = String(rotations).padStart(22, 'x');
      await eventually(async () => expect(await store.subscribe(processId, subscriber)).toBe(true), 10_000);

      await sleep(TTL_MS);
      expect(lease.isHeld()).toBe(true);
      await lease.release();
    },
    60_000,
  );
});
