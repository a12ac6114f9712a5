/**
 * A way to lock, as a workload uses it.
 *
 * @typedef {object} Adapter
 * @property {string} client - the client of Redis that it runs on
 * @property {readonly string[]} sends - commands that its client sends for locks; its scripts call none of them
 * @property {(options: { url: string, fair?: 'strict' }) => Promise<Locks>} open
 *
 * @typedef {object} Locks
 * @property {(key: string | string[], kind?: object) => Promise<unknown>} acquire - waits for as long as it takes; another
 *   kind than an exclusive lock only where the workload's subjects have it
 * @property {(held: unknown) => Promise<unknown>} release
 */

export const OURS = 'nestjs-distribute-lock';
/** Nothing but the bare commands: it cannot wait. */
export const RAW = 'raw';
/** What one would write by hand: a queue in the process before the bare commands, polling between processes. */
export const RAW_QUEUE = 'raw-queue';

/** Other libraries, each set up as its documentation says; they wait for a lock without limit. */
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

/** Loads the adapter; a process loads only the one that it measures. */
export async function loadAdapter(name) {
  const { adapter } = await import(`./${FILES[name]}.mjs`);
  return adapter;
}
