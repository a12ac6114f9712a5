import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';

import { freePort } from '../../support/free-port.js';
import { StallWatch } from '../../support/stall-watch.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { expectBelow } from '../support/bound.js';
import { PREFIX, type Locks } from '../support/lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';
import { outcome } from '../support/outcome.js';
import type { Identity, Way } from '../support/topology.js';
import type { TopologyWorld } from '../support/use-topology.js';

const SAID_WITHIN_MS = 2_000;
const SECRETS = /a-secret|another-secret/;

/** Callers without access get the reason, at start and later, and no error contains a secret. */
export function describeAccessRows(world: TopologyWorld): void {
  /** Asserts the refusal at start, and of an acquire, also with a long wait. */
  async function refused(open: () => Locks, why: RegExp, wait = 20_000): Promise<void> {
    const booting = open();
    const stalls = new StallWatch();
    const startedAt = monotonicMs();
    const [boot, acquired] = await Promise.all([
      booting.engine.connect().then(
        () => 'connected',
        (error: unknown) => error,
      ),
      outcome(open(), world.newKey(), { wait }),
    ]);
    expectBelow(monotonicMs() - startedAt, SAID_WITHIN_MS + stalls.stop());
    expect(acquired.code).toBe('LOCK_UNAVAILABLE');
    for (const loss of [boot, acquired.error]) {
      const all = inspect(loss, { depth: null, showHidden: true });
      expect(all).toMatch(why);
      expect(all).not.toMatch(SECRETS);
    }
    expect(acquired.message).toMatch(why);
  }
  const as = (identity: Identity, ways?: readonly Way[]) => () => world.locks(ways, identity);
  const user = (name: string, ...rules: string[]) =>
    world.onAll((redis) => redis.call('ACL', 'SETUSER', name, 'reset', 'on', '>a-secret', ...rules));

  it('a wrong password', async () => {
    await user('locks', '~*', '&*', '+@all');
    await refused(as({ username: 'locks', password: 'another-secret' }), /WRONGPASS/);
  });

  it('no right to scripts', async () => {
    await user('noscripts', '~*', '&*', '+@all', '-evalsha', '-eval');
    await refused(as({ username: 'noscripts', password: 'a-secret' }), /NOPERM/);
  });

  it('no right to a command inside of scripts', async () => {
    await user('noset', '~*', '&*', '+@all', '-set');
    const locks = world.locks(undefined, { username: 'noset', password: 'a-secret' });
    await locks.engine.connect(); // the probe script calls no command that needs the right
    const { code, message, tookMs, error } = await outcome(locks, world.newKey(), { wait: '20s' });
    expect(code).toBe('LOCK_UNAVAILABLE');
    expect(message).toMatch(/can't run this command|NOPERM/);
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(SECRETS);
    expectBelow(tookMs, SAID_WITHIN_MS);
  });

  it('no right to a key, and for that key only', async () => {
    const mine = `${PREFIX}mine`;
    await user('fewkeys', '~f1:*', '~qm1:*', `~${mine}*`, `~q1:{${mine}*`, '&*', '+@all');
    const locks = world.locks(undefined, { username: 'fewkeys', password: 'a-secret' });
    const [theirs, own] = await Promise.all(['theirs', 'mine'].map((key) => outcome(locks, key, { wait: '5s' })));
    expect(theirs).toMatchObject({ code: 'LOCK_UNAVAILABLE', message: expect.stringMatching(/NOPERM/) as string });
    expectBelow(theirs.tookMs, SAID_WITHIN_MS);
    expect(own.code).toBe('granted');
  });

  it('a port without a server', async () => {
    const nowhere = world.servers.map(() => ({ port: 1 }));
    await refused(as({ username: 'locks', password: 'a-secret' }, nowhere), /ECONNREFUSED/, 0);
  });

  describe('TLS', () => {
    let ways: Way[];
    let cert: string;
    beforeAll(async () => {
      const files = await certificate();
      cert = files.cert;
      ways = [];
      for (const server of world.servers) {
        const port = await freePort();
        ways.push({ port });
        await server.run((redis) =>
          redis.config('SET', 'tls-cert-file', files.cert, 'tls-key-file', files.key, 'tls-auth-clients', 'no'),
        );
        await server.run((redis) => redis.config('SET', 'tls-port', port));
      }
      await user('locks', '~*', '&*', '+@all');
    });
    const known = { username: 'locks', password: 'a-secret' };

    it('with a trusted certificate works', async () => {
      const locks = world.locks(ways, { ...known, tls: { ca: readFileSync(cert) } });
      await (await locks.acquire(world.newKey(), { wait: '10s' })).release();
    });

    it('with a certificate that is not trusted', () =>
      refused(as({ ...known, tls: {} }, ways), /self-signed certificate/));

    // A handshake without a reply may be temporary, so the caller waits.
    it('spoken to servers that do not speak it', () => refused(as({ ...known, tls: {} }), /connecting with TLS/, 0));
  });
}

async function certificate(): Promise<{ key: string; cert: string }> {
  const folder = await temporaryFolder('lock-tls-');
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const about = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...about], {
    stdio: 'ignore',
  });
  return { key, cert };
}
