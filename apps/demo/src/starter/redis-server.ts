import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const LEAST_VERSION = 7;

/** Whether the PATH contains a sufficiently new `redis-server`; if not, the reason. */
export async function lookForRedisServer(): Promise<{ usable: boolean; reason: string }> {
  const version = await redisServerVersion();
  if (version === undefined) return { usable: false, reason: 'the PATH contains no redis-server' };
  const usable = version >= LEAST_VERSION;
  return { usable, reason: usable ? '' : `redis-server on the PATH is version ${version}, ${LEAST_VERSION} is needed` };
}

async function redisServerVersion(): Promise<number | undefined> {
  try {
    const { stdout } = await promisify(execFile)('redis-server', ['--version']);
    const major = /\bv=(\d+)\./.exec(stdout)?.[1];
    return major === undefined ? undefined : Number(major);
  } catch {
    return undefined;
  }
}
