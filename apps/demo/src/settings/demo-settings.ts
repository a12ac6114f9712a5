import type { LockConnection } from 'nestjs-distribute-lock';

import { wholeNumber } from './whole-number.js';

/** The longest work that a request may ask for, so that nobody parks requests for hours. */
export const LONGEST_WORK_MS = 60_000;
/** The longest `wait` of a route. */
export const LONGEST_WAIT_MS = 15_000;

/** What one instance of the demo needs to know; also the token under which Nest injects it. */
export abstract class DemoSettings {
  /** Told in every answer, so that a reader sees which process did the work. */
  abstract readonly instance: string;
  abstract readonly host: string;
  abstract readonly port: number;
  /** A Redis URL, `memory`, or the connection of a topology; left undefined it makes the lock module refuse to boot, which is what it should do. */
  abstract readonly connection: LockConnection | undefined;
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
    prefix: env.DEMO_PREFIX || undefined,
    workMs: wholeNumber(env, { name: 'DEMO_WORK_MS', least: 0, most: LONGEST_WORK_MS, otherwise: 10_000 }),
  };
}

/** The port to listen on; 0 lets the system choose one. */
export function portSetting(env: NodeJS.ProcessEnv, most = 65_535): number {
  return wholeNumber(env, { name: 'PORT', least: 0, most, otherwise: 3000 });
}

/** A topology is more than a URL can say; the starter hands it over as JSON. */
function connectionOf(text: string | undefined): LockConnection | undefined {
  return text !== undefined && /^[[{]/.test(text) ? (JSON.parse(text) as LockConnection) : text;
}
