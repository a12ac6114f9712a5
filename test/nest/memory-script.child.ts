import { NestFactory } from '@nestjs/core';
import { LockModule, LockService } from 'nestjs-distribute-lock';

/** A script that waits for a lock that no call releases, and does not close its application. */
const app = await NestFactory.createApplicationContext(LockModule.forRoot({ connection: 'memory' }), { logger: false });
const locks = app.get(LockService);
await locks.acquire('import', { ttl: '1s', renew: false });
await locks.acquire('import', { ttl: '1s', renew: false, wait: '10s' });
await locks.acquire('import', { wait: '200ms' }).catch(({ code }: { code: string }) => console.log(code));
