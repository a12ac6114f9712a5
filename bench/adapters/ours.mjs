import { NestFactory } from '@nestjs/core';
import { LockModule, LockService } from 'nestjs-distribute-lock';

/** An application with only the lock module. */
export function openApplication(url, providers = [], options = {}) {
  const connection = LockModule.forRoot({ connection: url, ...options });
  return NestFactory.createApplicationContext(
    { module: class Application {}, imports: [connection], providers },
    { logger: ['error', 'warn'] },
  );
}

/** This library, as built, through its public service. */
export const adapter = {
  client: 'ioredis 6',
  sends: ['evalsha', 'eval'],
  async open({ url, fair = 'process', ttl = '30s', module = {} }) {
    const locks = (await openApplication(url, [], module)).get(LockService);
    return {
      acquire: (key, kind = {}) => locks.acquire(key, { ttl, wait: '10m', fair, ...kind }),
      release: (lease) => lease.release(),
    };
  },
};
