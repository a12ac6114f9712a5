/**
 * The lock interface of the workloads.
 *
 * @typedef {object} Adapter
 * @property {string} client - the Redis client that it uses
 * @property {readonly string[]} sends - commands that its client sends for locks, and that none of its scripts calls
 * @property {(options: { url: string, fair?: 'strict' }) => Promise<Locks>} open
 *
 * @typedef {object} Locks
 * @property {(key: string | string[], kind?: object) => Promise<unknown>} acquire - waits without limit; kinds other than
 *   exclusive only in workloads whose subjects support them
 * @property {(held: unknown) => Promise<unknown>} release
 */

export const OURS = 'nestjs-distribute-lock';
/** The bare commands, which cannot wait. */
export const RAW = 'raw';
/** A hand-written lock: a queue in the process in front of the bare commands, and polling between processes. */
export const RAW_QUEUE = 'raw-queue';

/** Other libraries, set up according to their documentation; they wait for a lock without limit. */
const PEER_FILES = {
  redlock: 'redlock',
  '@sesamecare-oss/redlock': 'sesamecare-redlock',
  'redis-semaphore': 'redis-semaphore',
  'redlock-universal': 'redlock-universal',
  '@microfleet/ioredis-lock': 'ioredis-lock',
  'simple-redis-mutex': 'simple-redis-mutex',
};
const FILES = { [OURS]: 'ours', [RAW]: 'raw', [RAW_QUEUE]: 'raw-queue', ...PEER_FILES };

export const PEERS = Object.keys(PEER_FILES);

/** Loads the adapter; each process loads only the adapter that it measures. */
export async function loadAdapter(name) {
  const { adapter } = await import(`./${FILES[name]}.mjs`);
  return adapter;
}
