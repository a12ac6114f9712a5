import { type LockConnection, MemoryLockStore } from 'nestjs-distribute-lock';

import { wholeNumber } from './whole-number.js';

/** The longest work of a request, so that no request occupies an instance for hours. */
export const LONGEST_WORK_MS = 60_000;
/** The longest `wait` of a route. */
export const LONGEST_WAIT_MS = 15_000;

/** The settings of one instance of the demo; also the token under which Nest injects it. */
export abstract class DemoSettings {
  /** Part of every response, so that a reader sees which process did the work. */
  abstract readonly instance: string;
  abstract readonly host: string;
  abstract readonly port: number;
  /** A Redis URL, `memory`, or the connection of a topology. When it is undefined, the lock module does not start. */
  abstract readonly connection: LockConnection | undefined;
  /** Whether all locks are in the memory of this process. */
  abstract readonly inMemory: boolean;
  abstract readonly prefix: string | undefined;
  abstract readonly workMs: number;
}

/** Reads the settings of one instance from the environment. */
export function demoSettings(env: NodeJS.ProcessEnv): DemoSettings {
  const port = portSetting(env);
  return {
    instance: env.DEMO_INSTANCE || `port ${port}`,
    host: env.HOST || '127.0.0.1',
    port,
    connection: connectionOf(env.REDIS_URL || undefined),
    inMemory: env.REDIS_URL === 'memory',
    prefix: env.DEMO_PREFIX || undefined,
    workMs: wholeNumber(env, { name: 'DEMO_WORK_MS', least: 0, most: LONGEST_WORK_MS, otherwise: 10_000 }),
  };
}

/** The settings of several instances in this process, which share the locks of one memory store. */
export function sharedSettings(env: NodeJS.ProcessEnv): DemoSettings[] {
  const settings = demoSettings(env);
  const names = (env.DEMO_SHARED || '').split(',').filter((name) => name !== '');
  if (!settings.inMemory || names.length === 0) return [settings];
  const connection = new MemoryLockStore();
  return names.map((instance, index) => {
    const port = settings.port === 0 ? 0 : settings.port + index;
    return Object.assign({}, settings, { instance, connection, port });
  });
}

/** The port to listen on; 0 lets the system choose one. */
export function portSetting(env: NodeJS.ProcessEnv, most = 65_535): number {
  return wholeNumber(env, { name: 'PORT', least: 0, most, otherwise: 3000 });
}

/** The connection of a topology does not fit into a URL, so the starter passes it as JSON. */
function connectionOf(text: string | undefined): LockConnection | undefined {
  return text !== undefined && /^[[{]/.test(text) ? (JSON.parse(text) as LockConnection) : text;
}
