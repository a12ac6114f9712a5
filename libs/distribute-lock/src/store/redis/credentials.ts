import type { Cluster, Redis, RedisOptions } from 'ioredis';

import { LockStoreError } from '../lock-store.js';
import { pauseMs } from './own-options.js';

/** User and password of a connection to Redis. @public */
export interface LockCredentials {
  /**
   * The user of the ACL.
   * @defaultValue the user `default`
   */
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Returns the present credentials. The library calls it before each connection that it opens. */
export type CredentialsSource = () => LockCredentials | Promise<LockCredentials>;

/** Credentials that arrive later are an error, and the source is called again. */
const SOURCE_LIMIT_MS = 10_000;
/** How often a pending source is checked. Its timer keeps the process alive, as an open connection does, until the client is closed. */
const CHECK_MS = 500;

/** Sources of clients of the library, and of the clients of the application that were given with a source. */
const sources = new WeakMap<Redis | Cluster, CredentialsSource>();

/** Credentials for the connections that the library opens beside the client. */
export function setSource(client: Redis | Cluster, source: CredentialsSource | undefined): void {
  if (source !== undefined) sources.set(client, source);
}

export const sourceOf = (client: Redis | Cluster): CredentialsSource | undefined => sources.get(client);

/** What a client needs to connect, whatever its version. */
interface Connecting {
  status: string;
  readonly manuallyClosing?: unknown;
  condition?: object | null;
  connect(): Promise<void>;
  emit(event: 'error', error: Error): boolean;
}

/** Reads the credentials before each connection of the client, also of the nodes of a Cluster. */
export function follow<T extends Redis | Cluster>(client: T, source: CredentialsSource): T {
  sources.set(client, source);
  if ('isCluster' in client && client.isCluster) followCluster(client as Cluster, source);
  else followNode(client as Redis, source);
  return client;
}

function followCluster(client: Cluster, source: CredentialsSource): void {
  // The client creates its nodes with these options.
  readBefore(client, source, client.options.redisOptions!);
  client.on('+node', (node: Redis) => void followNode(node, source));
}

/** The client of a Cluster copies its nodes for other purposes, such as to read which node serves which slots. */
function followNode(node: Redis, source: CredentialsSource): Redis {
  const duplicate = node.duplicate.bind(node);
  node.duplicate = (override) => followNode(duplicate(override), source);
  readBefore(node, source, node.options);
  return node;
}

function readBefore(client: Redis | Cluster, source: CredentialsSource, options: RedisOptions): void {
  const connecting = client as unknown as Connecting;
  const connect = connecting.connect.bind(connecting);
  let pending: Promise<void> | undefined;
  const apply = ({ username, password }: LockCredentials): void => {
    // Without credentials, those in the URL of a node remain.
    if (isText(username) || isText(password)) Object.assign(options, { username, password });
  };
  const connectLater = async (first: Promise<LockCredentials>): Promise<void> => {
    apply(await untilGiven(connecting, source, first));
    if (isClosed(connecting)) throw new LockStoreError('The connection is closed.', false, { sent: false });
    await connect();
  };
  connecting.connect = () => {
    if (pending !== undefined) return pending;
    const given = called(source);
    if (!(given instanceof Promise)) {
      apply(given);
      return connect();
    }
    // The client reads the selected database when it queues a command, and sets it only when it connects.
    connecting.condition ??= {
      select: options.db ?? 0,
      subscriber: false,
      protocol: options.protocol,
      replyMapping: 'legacy',
    };
    return (pending = connectLater(given).finally(() => (pending = undefined)));
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isClosed = ({ status, manuallyClosing }: Connecting): boolean => status === 'end' || manuallyClosing === true;

function called(source: CredentialsSource): LockCredentials | Promise<LockCredentials> {
  try {
    return source();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Calls the source again until it returns credentials, or the client is closed. */
async function untilGiven(
  client: Connecting,
  source: CredentialsSource,
  first: Promise<LockCredentials>,
): Promise<LockCredentials> {
  let next: LockCredentials | Promise<LockCredentials> = first;
  for (let times = 1; ; times += 1) {
    try {
      return await inTime(client, Promise.resolve(next));
    } catch (error) {
      if (isClosed(client)) return {};
      client.emit('error', noCredentials(error));
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs(times)));
    if (isClosed(client)) return {};
    next = called(source);
  }
}

/** The message of the source may contain a secret, so only the name of the error is repeated. */
function noCredentials(error: unknown): Error {
  if (error instanceof LockStoreError) return error;
  const name = error instanceof Error ? error.name : typeof error;
  return new LockStoreError(`Option "credentials" failed with ${name}.`, true, { sent: false });
}

async function inTime<T>(client: Connecting, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let leftMs = SOURCE_LIMIT_MS;
  const late = new Promise<never>((_, reject) => {
    const error = `Option "credentials" did not return within ${SOURCE_LIMIT_MS} ms.`;
    timer = setInterval(() => {
      leftMs -= CHECK_MS;
      if (leftMs <= 0 || isClosed(client)) reject(new LockStoreError(error, true, { sent: false }));
    }, CHECK_MS);
  });
  return Promise.race([answer, late]).finally(() => clearInterval(timer));
}
