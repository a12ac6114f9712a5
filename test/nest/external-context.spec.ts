import { type INestApplicationContext, Injectable } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributeLock, LockModule, LockService } from 'nestjs-distribute-lock';

import { onCleanup } from '../support/cleanup.js';
import { within } from '../support/eventually.js';

@Injectable()
class Reports {
  @DistributeLock({ key: 'report' })
  async write(): Promise<string> {
    return 'written';
  }
}

describe('a call by ExternalContextCreator that claims to use HTTP', () => {
  it.each<[string, (module: TestingModule) => INestApplicationContext]>([
    ['without a server', (module) => module],
    ['with a server', (module) => module.createNestApplication()],
  ])('succeeds in an application %s', async (_name, made) => {
    const imports = [LockModule.forRoot({ connection: 'memory' })];
    const app = made(await Test.createTestingModule({ imports, providers: [Reports] }).compile());
    app.useLogger(false);
    await app.init();
    onCleanup(() => app.close());
    const reports = app.get(Reports);
    const call = app.get(ExternalContextCreator).create(reports, () => reports.write(), 'write');
    const lease = await app.get(LockService).acquire('report');
    const refused = { status: 409, cause: { code: 'LOCK_CONTENDED' } };
    await expect(within(5000, 'the call', call())).rejects.toMatchObject(refused);
    await lease.release();
    expect(await call()).toBe('written');
  });
});
