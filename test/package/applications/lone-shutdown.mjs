/**
 * An application without a server and a connection, which is closed while it holds a lock. Prints what the holder saw.
 */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule, LockService } from 'nestjs-distribute-lock';

class AppModule {}
Module({ imports: [LockModule.forRoot({ connection: 'memory', drainTimeout: '100ms' })] })(AppModule);

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const lease = await app.get(LockService).acquire('order');
await app.close();
console.log(JSON.stringify({ lost: lease.signal.reason.code }));
