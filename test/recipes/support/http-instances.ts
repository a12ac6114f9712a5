import { type INestApplication, type ModuleMetadata, ValidationPipe } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule } from 'nestjs-distribute-lock';

import type { RedisCorner } from '../../support/use-redis.js';

/** Two instances of an application over HTTP, which share their locks; they end with the suite. */
export function twoInstances(
  { url, prefix }: RedisCorner,
  application: Pick<ModuleMetadata, 'controllers' | 'providers'>,
): readonly INestApplication[] {
  const instances: INestApplication[] = [];
  beforeAll(async () => {
    while (instances.length < 2) {
      const module = await Test.createTestingModule({
        imports: [LockModule.forRoot({ connection: url, prefix })],
        ...application,
      }).compile();
      const app = module.createNestApplication();
      app.useGlobalPipes(new ValidationPipe());
      await app.listen(0, '127.0.0.1');
      instances.push(app);
    }
  });
  afterAll(() => Promise.all(instances.map((app) => app.close())));
  return instances;
}
