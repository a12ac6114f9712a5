/**
 * Locks with one version of ioredis, and records how the commands of the library reach the socket. The library encodes its
 * script calls itself, which relies on private parts of the client. Prints the results as one line of JSON.
 */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { Command, Redis } from 'ioredis';
import { LockModule, LockService } from 'nestjs-distribute-lock';

const { REDIS_URL } = process.env;
const PREFIX = 'lock:';
const { version } = JSON.parse(readFileSync(new URL('node_modules/ioredis/package.json', import.meta.url), 'utf8'));

const seen = { scripts: 0, written: 0, toSocket: 0 };
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (command, ...more) {
  if (command.name === 'evalsha') {
    seen.scripts += 1;
    if (command.toWritable !== Command.prototype.toWritable) {
      seen.written += 1;
      const { toWritable } = command;
      command.toWritable = function (...args) {
        const text = toWritable.apply(this, args);
        // The client would encode these arguments to the same bytes.
        assert.equal(String(text), String(new Command('evalsha', this.args).toWritable()));
        seen.toSocket += 1;
        return text;
      };
    }
  }
  return sendCommand.call(this, command, ...more);
};

const control = new Redis(REDIS_URL);
await control.flushall();
const application = await NestFactory.createApplicationContext(
  { module: class Application {}, imports: [LockModule.forRoot({ connection: REDIS_URL })] },
  { logger: ['error', 'warn'] },
);
const locks = application.get(LockService);
// The client encodes the call that checks at the start that scripts run.
Object.assign(seen, { scripts: 0, written: 0, toSocket: 0 });
const options = { ttl: '5s', wait: '5s' };
const isHeld = (key) => control.exists(PREFIX + key);

async function cycle(key) {
  const lease = await locks.acquire(key, options);
  assert.equal(await isHeld(key), 1);
  assert.ok(Number.isSafeInteger(lease.fencingToken));
  await lease.extend('6s');
  await lease.release();
  assert.equal(await isHeld(key), 0);
  return lease.fencingToken;
}

const steps = {
  async 'alone, with a key beyond ASCII'() {
    const first = await cycle('größe-鍵-🔒');
    assert.ok((await cycle('größe-鍵-🔒')) > first);
  },
  async 'many in one tick'() {
    const keys = Array.from({ length: 20 }, (_, i) => `many-${i}`);
    await Promise.all(keys.map((key) => cycle(key)));
  },
  async 'a hand-over in memory and by release'() {
    const first = await locks.acquire('handed', options);
    const second = locks.acquire('handed', { ...options, fair: 'strict' });
    await first.release();
    await (await second).release();
    assert.equal(await isHeld('handed'), 0);
  },
  async 'a script that the server does not know (NOSCRIPT)'() {
    await control.script('FLUSH');
    await cycle('unknown-script');
  },
  async 'an error of the server'() {
    await control.lpush(`${PREFIX}wrong`, 'x');
    await assert.rejects(locks.acquire('wrong', options), { code: 'LOCK_UNAVAILABLE' });
  },
  async 'a connection that is closed, also with commands under way'() {
    const lease = await locks.acquire('kept', { ttl: '5s' });
    const cycles = Promise.all(Array.from({ length: 10 }, (_, i) => cycle(`reconnect-${i}`)));
    await control.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await cycles;
    await lease.extend('5s');
    await lease.release();
    await cycle('after-reconnect');
  },
};

for (const [name, step] of Object.entries(steps)) {
  await step().catch((error) => {
    throw new Error(`ioredis ${version}: ${name}`, { cause: error });
  });
}
await application.close();
await control.quit();
console.log(JSON.stringify({ ioredis: version, ...seen }));
