import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { packLibraries } from '../support/pack-library.js';
import { startRedisServer } from '../support/redis-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const run = promisify(execFile);
/** Mostly npm with its registry. */
const LIMIT_MS = 280_000;

describe('An empty folder with both tarballs', () => {
  it(
    'runs a command by npx',
    async () => {
      const [packed, redis, cwd] = await Promise.all([
        packLibraries(),
        startRedisServer(),
        temporaryFolder('packed-program-'),
      ]);
      const { PATH, HOME, npm_config_cache: cache } = process.env;
      const env = { PATH, HOME, REDIS_URL: redis.url, ...(cache === undefined ? {} : { npm_config_cache: cache }) };
      const npm = async (command: string, ...words: string[]): Promise<string> =>
        (await run(command, words, { cwd, env, timeout: 240_000 })).stdout;
      await npm('npm', 'install', '--no-audit', '--no-fund', packed.cli.tarball, packed.tarball);
      const words = ['--no-install', 'distribute-lock', 'run', 'job', '--', 'sh', '-c', 'echo "$DISTRIBUTE_LOCK_KEY"'];
      expect(await npm('npx', ...words)).toBe('job\n');
      expect(await npm('npx', '--no-install', 'distribute-lock', '--help')).toContain('run KEY');
      await expect(
        npm('npx', '--no-install', 'distribute-lock', 'run', 'job', '--', 'sh', '-c', 'exit 7'),
      ).rejects.toMatchObject({
        code: 7,
      });
    },
    LIMIT_MS,
  );
});
