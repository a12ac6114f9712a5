/** An application with only the core of Nest and the built package, which it imports by name like users do. */
import { createRequire, register } from 'node:module';
import { MessageChannel } from 'node:worker_threads';

const { port1, port2 } = new MessageChannel();
const requests = [];
const finished = new Promise((resolve) => {
  port1.on('message', (message) => {
    requests.push(message);
    if (message.by === import.meta.url) resolve();
  });
});
register('./hidden.mjs', import.meta.url, { data: { port: port2 }, transferList: [port2] });

const { Module, Injectable } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { DistributeLock, LockModule, LockService } = await import('nestjs-distribute-lock');

class Job {
  async run() {
    return context.get(LockService).current()?.key;
  }
}
const descriptor = Object.getOwnPropertyDescriptor(Job.prototype, 'run');
DistributeLock({ key: 'job' })(Job.prototype, 'run', descriptor);
Object.defineProperty(Job.prototype, 'run', descriptor);
Injectable()(Job);

class App {}
Module({ imports: [LockModule.forRoot({ connection: 'memory' })], providers: [Job] })(App);

const context = await NestFactory.createApplicationContext(App, { logger: false });
const job = context.get(Job);
const ran = await job.run();
const lease = await context.get(LockService).acquire('job');
const refused = await job.run().catch(({ code }) => code);
await lease.release();
await context.close();
const trapped = await import('@nestjs/websockets').catch(({ code }) => code);
await finished; // the hooks send this message last, so all earlier ones have arrived

const files = Object.keys(createRequire(import.meta.url).cache);
process.send({
  name: 'seen',
  data: { entry: import.meta.resolve('nestjs-distribute-lock'), requests, ran, refused, trapped, files },
});
port1.close();
process.disconnect();
