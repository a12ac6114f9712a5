/** A CommonJS test whose runner has replaced functions of `node:timers`; prints the outcome of a waiting caller. */
require('reflect-metadata');
const { mock } = require('node:test');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { LockService } = require('nestjs-distribute-lock');
const { LockTestingModule, TestLocks } = require('nestjs-distribute-lock/testing');

async function main() {
  class AppModule {}
  Module({ imports: [LockTestingModule.forRoot()] })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const locks = app.get(TestLocks);
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate'] });
  await locks.contend('order');
  const waited = app.get(LockService).acquire('order', { wait: '10m' });
  const refused = waited.catch(({ code }) => code);
  await locks.advance('11m');
  console.log(JSON.stringify({ code: await refused }));
  mock.timers.reset();
  await app.close();
}

void main();
