import { setTimeout as sleep } from 'node:timers/promises';

import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule, LockService } from 'nestjs-distribute-lock';

import { RecordingLogger } from '../nest/support/recording-logger.js';
import { eventually } from '../support/eventually.js';
import { startRedisServer } from '../support/redis-server.js';

/** `LOG_OUTAGE_MS=60000` runs the full length. */
const OUTAGE_MS = Number(process.env['LOG_OUTAGE_MS'] ?? 10_000);
const CALLS_PER_SECOND = 1_000;
const TICK_MS = 10;

/** Starts calls at a constant rate and counts the failed ones. */
class Load {
  started = 0;
  failed = 0;
  private readonly unsettled = new Set<Promise<void>>();
  private readonly since = performance.now();
  private readonly timer = setInterval(() => this.catchUp(), TICK_MS);

  constructor(private readonly locks: LockService) {}

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.unsettled);
  }

  private catchUp(): void {
    const wanted = ((performance.now() - this.since) / 1_000) * CALLS_PER_SECOND;
    while (this.started < wanted) {
      this.started += 1;
      const call = this.locks
        .withLock(`load:${this.started % 200}`, { wait: this.started % 2 === 0 ? 0 : '1s' }, async () => undefined)
        .catch(() => void (this.failed += 1))
        .finally(() => void this.unsettled.delete(call));
      this.unsettled.add(call);
    }
  }
}

describe('P26: the log during an outage', () => {
  let app: INestApplicationContext;

  afterEach(() => app.close());

  it(
    `has one warning and one line about the return, with ${CALLS_PER_SECOND} calls/s for ${OUTAGE_MS / 1_000} s`,
    async () => {
      const server = await startRedisServer();
      const logger = new RecordingLogger();
      @Module({ imports: [LockModule.forRoot({ connection: server.url })] })
      class App {}
      app = await NestFactory.createApplicationContext(App, { logger });
      const load = new Load(app.get(LockService));
      await sleep(500);
      logger.lines.length = 0;

      await server.kill();
      const before = load.started;
      await sleep(OUTAGE_MS);
      const during = load.started - before;
      await server.start();
      await eventually(() => expect(logger.about('works again')).toHaveLength(1), 10_000);
      await load.stop();
      // Lines after the return are about the calls that contend again.
      const lines = logger.lines.slice(0, logger.lines.findIndex(([, text]) => text.includes('works again')) + 1);
      process.stdout.write(
        `log lines in an outage of ${OUTAGE_MS} ms: ${lines.length} (${during} calls, ${load.failed} failed)\n` +
          lines
            .slice(0, 20)
            .map(([level, text]) => `  ${level}: ${text}\n`)
            .join(''),
      );
      expect(during).toBeGreaterThan((OUTAGE_MS / 1_000) * CALLS_PER_SECOND * 0.9);
      expect(load.failed).toBeGreaterThan(during * 0.9);
      const aboutConnection = lines.filter(([, text]) => text.startsWith('The connection to'));
      expect(aboutConnection.map(([level]) => level)).toEqual(['warn', 'log']);
      // Releases that were in flight share one line a minute.
      const releases = lines.filter((line) => !aboutConnection.includes(line));
      expect(releases.length).toBeLessThanOrEqual(1 + Math.floor(OUTAGE_MS / 60_000));
      expect(releases.every(([level, text]) => level === 'warn' && text.startsWith('load: '))).toBe(true);
    },
    OUTAGE_MS + 40_000,
  );

  it('has one warning a minute when the connection fails again and again', async () => {
    const server = await startRedisServer();
    const logger = new RecordingLogger();
    @Module({ imports: [LockModule.forRoot({ connection: server.url })] })
    class App {}
    app = await NestFactory.createApplicationContext(App, { logger });
    const locks = app.get(LockService);
    for (let outage = 0; outage < 4; outage += 1) {
      await server.kill();
      await sleep(600);
      await server.start();
      await eventually(async () => (await locks.acquire('a')).release(), 10_000);
    }
    const levels = logger.about('The connection to').map(([level]) => level);
    expect(levels).toEqual(['warn', 'log']);
  }, 60_000);
});
