import { existsSync } from 'node:fs';
import { runCleanups } from './cleanup.js';
import { eventually } from './eventually.js';
import { startRedisServer } from './redis-server.js';

describe('startRedisServer', () => {
  it('starts servers that do not know each other', async () => {
    const [one, other] = await Promise.all([startRedisServer(), startRedisServer()]);

    await one.run((redis) => redis.set('key', 'one'));

    expect(await other.run((redis) => redis.dbsize())).toBe(0);
    expect(one.pid).not.toBe(other.pid);
  });

  it('restarts on its port, empty or with its data, also after a kill', async () => {
    const server = await startRedisServer({ config: { appendonly: 'yes' } });
    await server.run((redis) => redis.set('key', 'kept'));

    await server.kill();
    await server.restart({ empty: false });
    expect(await server.run((redis) => redis.get('key'))).toBe('kept');

    await server.restart({ empty: true });
    expect(await server.run((redis) => redis.get('key'))).toBeNull();
  });

  it('keeps the data of a server without an append-only file on request', async () => {
    const server = await startRedisServer();
    await server.run((redis) => redis.set('key', 'kept'));

    await server.restart({ empty: false });

    expect(await server.run((redis) => redis.get('key'))).toBe('kept');
  });

  it('does not reply while the server is stopped, and replies to all commands afterwards', async () => {
    const server = await startRedisServer();
    let answered = false;

    server.pause();
    const ping = server.run((redis) => redis.ping()).then(() => (answered = true));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(answered).toBe(false);

    server.resume();
    await ping;
  });

  it('leaves neither a process nor a folder behind', async () => {
    const server = await startRedisServer({ config: { requirepass: 'open sesame' } });
    const [, folder = '']: string[] = await server.run((redis) => redis.config('GET', 'dir'));
    expect(existsSync(folder)).toBe(true);

    server.pause();
    await runCleanups();

    expect(existsSync(folder)).toBe(false);
    await eventually(() => expect(() => process.kill(server.pid, 0)).toThrow('ESRCH'));
  });
});
