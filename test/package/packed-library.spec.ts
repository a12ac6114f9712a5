import { existsSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Child } from '../support/child.js';
import { eventually } from '../support/eventually.js';
import { packLibrary } from '../support/pack-library.js';
import { type RedisServer, startRedisServer } from '../support/redis-server.js';
import { installLibrary, type PackedLibrary } from './packed-library.js';
import { faultsOf, handOvers, holdsOf, ROLLING_KINDS, type RollingKind } from './rolling-deploy.js';

const RELEASED = new URL('./released/', import.meta.url);
/** The tarball of the latest published version, if there is one; docs/internals/releasing.md says when to replace it. */
const latest = existsSync(RELEASED) ? readdirSync(RELEASED).find((file) => file.endsWith('.tgz')) : undefined;
/** The test of a rolling deployment needs a published version. Until then none is declared: a skipped test counts as a failure. */
const describePublished = latest === undefined ? () => undefined : describe;

let tarball: string;
let packed: PackedLibrary;

beforeAll(async () => {
  tarball = await packLibrary();
  packed = await installLibrary(tarball);
}, 120_000);

describe('the packed library', () => {
  it('runs in a small ESM application with only its dependencies and peers', async () => {
    const printed = await packed.runApplication('main.ts');

    expect(printed).toEqual({ answers: ['settled 42', 'LOCK_CONTENDED', 'settled 43'], token: true });
  });

  it('acts as one library when an application loads it twice, imported and required', async () => {
    const printed = await packed.runApplication('two-copies.mjs');

    const works = {
      holds: 'order',
      sameByOther: true,
      nested: 'LOCK_USAGE',
      second: [409, true, 'LOCK_CONTENDED'],
      direct: [true, true],
      named: 'report',
      received: ['acquired', 'contended', 'refused', 'released'],
    };
    expect(printed).toEqual({
      different: true,
      required: works,
      imported: works,
      twice: expect.stringContaining('LockModule.forRoot() is imported 2 times') as unknown,
    });
  });

  it('finds the package of a transport where a library can only load what its manifest names', async () => {
    await packed.install('@nestjs/microservices');

    expect(await packed.runApplication('rpc.mjs')).toMatchObject({ free: 'settled', busy: { code: 'LOCK_CONTENDED' } });
  });

  it('loads an optional package only by the entry that needs it, although all are installed', async () => {
    for (const name of ['@nestjs/swagger', '@nestjs/terminus', '@opentelemetry/api', 'prom-client'])
      await packed.install(name);

    const none: string[] = [];
    expect(await packed.runApplication('loaded.mjs')).toEqual({
      'import .': none,
      'require .': none,
      'import ./core': none,
      'require ./core': none,
      'import ./testing': none,
      'require ./testing': none,
      // prom-client itself loads the other one.
      'import ./prometheus': ['@opentelemetry/api', 'prom-client'],
      'require ./prometheus': ['prom-client'],
      'import ./otel': ['@opentelemetry/api'],
      'require ./otel': ['@opentelemetry/api'],
      'import ./terminus': ['@nestjs/terminus'],
      'require ./terminus': ['@nestjs/terminus'],
      'import ./dashboard': none,
      'require ./dashboard': none,
      'import ./swagger': ['@nestjs/swagger'],
      'require ./swagger': ['@nestjs/swagger'],
    });
  });

  it('advances the time of its testing kit under fake timers that replace functions of Node', async () => {
    expect(await packed.runApplication('fake-timers.cjs')).toEqual({ code: 'LOCK_WAIT_TIMEOUT' });
  });

  it('closes an application that holds a lock when nothing else keeps the process running', async () => {
    expect(await packed.runApplication('lone-shutdown.mjs')).toEqual({ lost: 'LOCK_SHUTDOWN' });
  });
});

describe('the packed library in a program without Nest', () => {
  let plain: PackedLibrary;

  beforeAll(async () => {
    plain = await installLibrary(tarball, []);
  }, 120_000);

  it.each(['plain.mjs', 'plain.cjs'])('locks, and ends by itself: %s', async (program) => {
    expect(await plain.runApplication(program)).toEqual({ answers: ['ran', null], loaded: ['ioredis', 'ms'] });
  });

  it.each([
    ['Nest', []],
    ['rxjs', ['@nestjs/common', '@nestjs/core', 'reflect-metadata']],
  ])('names what an application lacks that loads the Nest module without %s', async (_, besides) => {
    const lacking = await installLibrary(tarball, besides);
    const absent = besides.length === 0 ? '@nestjs/common' : 'rxjs';
    const required = await lacking.runApplication('without-peers.cjs');
    expect(required).toContain(`needs Nest: npm install @nestjs/common @nestjs/core reflect-metadata rxjs.`);
    expect(required).toContain(`Cannot find module '${absent}'`);
    // Node reports it before any code of the library runs.
    expect(await lacking.runApplication('without-peers.mjs')).toMatch(
      /^Cannot find package '(@nestjs\/common|reflect-metadata|rxjs)'/,
    );
  });
});

describePublished(`a rolling deployment, from ${latest} to the current version`, () => {
  const BESIDE_MS = 2_000;
  let released: PackedLibrary;
  let redis: RedisServer;

  beforeAll(async () => {
    released = await installLibrary(fileURLToPath(new URL(latest!, RELEASED)));
  }, 120_000);

  beforeEach(async () => {
    redis = await startRedisServer();
  });

  async function start(library: PackedLibrary, instance: string, prefix = 'lock:'): Promise<Child> {
    const child = library.startApplication('rolling.mjs', {
      REDIS_URL: redis.url,
      INSTANCE: instance,
      PREFIX: prefix,
    });
    await child.printed('ready');
    return child;
  }

  async function faults(): Promise<string[]> {
    const found = await Promise.all(ROLLING_KINDS.map(async (kind) => faultsOf(kind, await holdsOf(redis, kind))));
    return found.flat();
  }

  const bothHold = (kind: RollingKind) =>
    eventually(async () => expect(handOvers(await holdsOf(redis, kind))).toBeGreaterThan(2), 10_000);

  it('excludes the callers of both versions, raises tokens, and serves waits within 2.5 s', async () => {
    const old = await start(released, 'old');
    const current = await start(packed, 'new');
    await Promise.all(ROLLING_KINDS.map(bothHold));
    await delay(BESIDE_MS);
    expect(await old.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    await delay(BESIDE_MS / 4);
    const rolledBack = await start(released, 'old again');
    await delay(BESIDE_MS / 2);
    for (const child of [current, rolledBack]) expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    expect(await faults()).toEqual([]);
    for (const kind of ROLLING_KINDS) {
      const instances = new Set((await holdsOf(redis, kind)).map(({ instance }) => instance));
      expect([kind, ...instances].toSorted()).toEqual(['new', 'old', 'old again', kind].toSorted());
    }
    expect(await redis.run((client) => client.keys('lock:*'))).toEqual([]);
  });

  it('is reported as an overlap where the versions share no locks', async () => {
    await start(released, 'old', 'other:');
    await start(packed, 'new');

    await eventually(async () => expect((await faults()).join('\n')).toContain('overlap: exclusive'), 10_000);
  });
});
