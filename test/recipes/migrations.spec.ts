import { type DynamicModule, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule } from 'nestjs-distribute-lock';
import { createLocks, type OpenedLocks } from 'nestjs-distribute-lock/core';
import { DataSource } from 'typeorm';

import { onCleanup } from '../support/cleanup.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/use-redis.js';
import { AddStatus1700000000000 } from './migrations/add-status.js';
import { bootstrap } from './migrations/bootstrap.js';
import { Migrations } from './migrations/migrations.js';

const LIMIT_MS = 20_000;

@Module({})
class AppModule {}

describe('recipe: migrations once per deploy', () => {
  const redis = useRedis();
  const running: INestApplication[] = [];
  let database: DataSource;
  let observer: OpenedLocks;

  beforeAll(async () => {
    observer = await createLocks({ connection: redis.url, prefix: redis.prefix });
    onCleanup(() => observer.close());
  });

  beforeEach(async () => {
    database = new DataSource({ type: 'sqljs', logger: 'debug', migrations: [AddStatus1700000000000] });
    await database.initialize();
    await database.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
    AddStatus1700000000000.began = 0;
  });

  afterEach(async () => {
    await Promise.all(running.splice(0).map((app) => app.close()));
    await database.destroy();
  });

  /** Starts an instance: `listening` is whether it serves requests. */
  function start(): { listening: boolean; started: Promise<void> } {
    const module: DynamicModule = {
      module: AppModule,
      imports: [LockModule.forRoot({ connection: redis.url, prefix: redis.prefix })],
      providers: [Migrations, { provide: DataSource, useValue: database }],
    };
    const instance = { listening: false, started: Promise.resolve() };
    instance.started = bootstrap({ create }, module, 0).then(() => void (instance.listening = true));
    instance.started.catch(() => undefined);
    return instance;
  }

  async function create(module: DynamicModule): Promise<INestApplication> {
    const app = await NestFactory.create(module, { logger: false });
    running.push(app);
    return app;
  }

  function closeGate(): { open: () => void; fail: (error: Error) => void } {
    let open!: () => void;
    let fail!: (error: Error) => void;
    AddStatus1700000000000.gate = new Promise<void>((...settle) => ([open, fail] = settle));
    return { open, fail };
  }

  const waiting = async () => (await observer.inspect('migrate')).waiting;

  it('migrates on one of three instances; the others serve no request before it is done', async () => {
    const gate = closeGate();
    const instances = [start(), start(), start()];
    await eventually(async () => expect(await waiting()).toBe(2), LIMIT_MS);
    expect(AddStatus1700000000000.began).toBe(1);
    expect(instances.map(({ listening }) => listening)).toEqual([false, false, false]);

    gate.open();
    await Promise.all(instances.map(({ started }) => started));
    expect(AddStatus1700000000000.began).toBe(1);
    expect(await database.query('SELECT name FROM migrations')).toEqual([{ name: 'AddStatus1700000000000' }]);
  });

  it('leaves a failed migration to the next instance; the first one does not start', async () => {
    const gate = closeGate();
    const instances = [start(), start()];
    await eventually(async () => expect(await waiting()).toBe(1), LIMIT_MS);

    AddStatus1700000000000.gate = Promise.resolve();
    gate.fail(new Error('disk full'));
    const ends = await Promise.allSettled(instances.map(({ started }) => started));
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(ends.find((end) => end.status === 'rejected')?.reason).toMatchObject({ message: 'disk full' });
    expect(AddStatus1700000000000.began).toBe(2);
    expect(await database.query('SELECT name FROM migrations')).toHaveLength(1);
  });
});
