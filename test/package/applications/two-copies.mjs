/**
 * An application that loads the package twice, by `import` and by `require`, like one with dependencies of both kinds.
 * It uses a decorator of one copy and the module of the other. Prints the outcomes.
 */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Controller, Injectable, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as imported from 'nestjs-distribute-lock';

const required = createRequire(import.meta.url)('nestjs-distribute-lock');

/** The compiled form of `@decorators method()`. */
function decorate(target, name, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, name);
  for (const decorator of decorators.reverse()) decorator(target.prototype, name, descriptor);
  Object.defineProperty(target.prototype, name, descriptor);
}

function injects(target, ...types) {
  Injectable()(target);
  Reflect.defineMetadata('design:paramtypes', types, target);
}

/** A controller with the decorators and injected classes of one copy. */
function controllerOf(copy) {
  const gate = withResolvers();
  const entered = withResolvers();

  class Orders {
    constructor(locks, reports, events) {
      Object.assign(this, { locks, reports, leave: gate.resolve, entered: entered.promise });
      events.listen(({ type }) => this.received.add(type));
    }
    received = new Set();
    async settle() {
      entered.resolve();
      await gate.promise;
      const nested = await this.locks.acquire('order').then(String, ({ code }) => code);
      return { holds: this.locks.current()?.key, sameByOther: this.current() === this.locks.current(), nested };
    }
  }
  Controller('orders')(Orders);
  injects(Orders, copy.LockService, copy.LockService, copy.LockEvents);
  copy.InjectLockService('reports')(Orders, undefined, 1);
  decorate(Orders, 'settle', Post(), copy.DistributeLock({ key: 'order', ttl: '5s' }));
  return Orders;
}

/** `one` decorates and injects, `other` provides the module. */
async function application(one, other, forRoot) {
  const Orders = controllerOf(one);
  class AppModule {}
  Module({ imports: [forRoot(other.LockModule)], controllers: [Orders] })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  const orders = app.get(Orders);
  orders.current = () => app.get(other.LockService).current();
  const url = `${await app.getUrl()}/orders`;
  const first = fetch(url, { method: 'POST' });
  await orders.entered;
  const second = await fetch(url, { method: 'POST' });
  const direct = await orders.settle().catch((error) => error);
  orders.leave();
  const answer = {
    ...(await (await first).json()),
    second: [second.status, second.headers.get('retry-after') !== null, (await second.json()).code],
    direct: [one, other].map(({ isLockError }) => isLockError(direct, 'LOCK_CONTENDED')),
    named: await orders.reports.withLock('report', async (lease) => lease.key),
    received: [...orders.received].sort((a, b) => a.localeCompare(b)),
  };
  await app.close();
  return answer;
}

function withResolvers() {
  let resolve;
  const promise = new Promise((settle) => (resolve = settle));
  return { promise, resolve };
}

const connections = { connection: 'memory', connections: { reports: 'memory' } };
const forRoot = (type) => type.forRoot(connections);
const forRootAsync = (type) => type.forRootAsync({ useFactory: () => connections });

class Twice {}
const others = { ...connections, prefix: 'other:' };
Module({ imports: [imported.LockModule.forRoot(connections), required.LockModule.forRoot(others)] })(Twice);
const twice = await NestFactory.createApplicationContext(Twice, { logger: false, abortOnError: false }).catch(
  (error) => error,
);

console.log(
  JSON.stringify({
    different: imported.LockService !== required.LockService,
    required: await application(required, imported, forRoot),
    imported: await application(imported, required, forRootAsync),
    twice: twice.message,
  }),
);
