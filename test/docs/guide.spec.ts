import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { LockModule, LockService } from 'nestjs-distribute-lock';
import { LockTestingModule, TestLocks } from 'nestjs-distribute-lock/testing';

import { LockAlerts } from './guide/events.js';
import { KeyValueLockStore } from './guide/key-value-store.js';
import { type Invoice, InvoicesService } from './guide/keys.js';
import { AccountsService, CatalogService, ExportsService, StockListener } from './guide/kinds.js';
import { ImportService } from './guide/lost.js';
import { ImagesService } from './guide/ttl.js';
import { ReportsService } from './guide/waiting.js';
import { newKeyValueClient } from './support/key-value-client.js';

const services = [
  InvoicesService,
  ReportsService,
  CatalogService,
  ExportsService,
  AccountsService,
  StockListener,
  ImagesService,
  ImportService,
  LockAlerts,
];

describe('The examples of the guide', () => {
  const start = async () => {
    const module = await Test.createTestingModule({
      imports: [LockTestingModule.forRoot()],
      providers: services,
    }).compile();
    await module.init();
    return { module, locks: module.get(TestLocks) };
  };
  let { module, locks } = {} as Awaited<ReturnType<typeof start>>;

  beforeEach(async () => void ({ module, locks } = await start()));

  afterEach(async () => module.close());

  it('make the keys that the page shows', async () => {
    const invoices = module.get(InvoicesService);
    const invoice: Invoice = { id: 'a/1', customer: { id: 7 } };
    expect(await invoices.settle(invoice)).toBe('invoice:a%2F1');
    expect(await invoices.bill(invoice, '2026-11')).toBe('customer:7:2026-11');
    expect(await invoices.send(invoice)).toBe('invoice:a%2F1');
    expect(await invoices.archive('a/1')).toBe('invoice:a%2F1');
  });

  it('wait, return null, abort or respond while another instance holds the lock', async () => {
    const reports = module.get(ReportsService);
    const elsewhere = await locks.contend('report:sales', { ttl: '10s', renew: false });
    expect(await reports.buildUnlessBusy('sales')).toBe('busy');
    expect(await reports.buildOrTell('sales')).toMatch(/^sales: try again in \d+ ms$/);
    await expect(reports.buildWithin('sales', AbortSignal.abort())).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    const built = reports.build('sales');
    await locks.advance('1s');
    await elsewhere.release();
    expect(await built).toBe('built sales');
    expect(await reports.buildUnlessBusy('sales')).toBe('built sales');
    expect(await reports.buildWithin('sales', new AbortController().signal)).toBe('built sales');
    expect(await reports.buildOrTell('sales')).toBe('built sales');
  });

  it('share the lock among readers, and admit one writer', async () => {
    const catalog = module.get(CatalogService);
    const reader = await locks.contend('catalog', { kind: 'read' });
    expect(await catalog.list()).toEqual(['shirt']);
    const rebuilt = catalog.rebuild();
    await locks.advance('1s');
    await reader.release();
    expect(await rebuilt).toBe('verified');
  });

  it('limit the permits in use', async () => {
    const exports = module.get(ExportsService);
    await locks.contend('exports', { kind: 'semaphore', permits: 5, weight: 4 });
    expect(await exports.export('a')).toBe('exported a');
    const all = exports.exportAll().catch((error) => error.code);
    await locks.advance('1m');
    expect(await all).toBe('LOCK_WAIT_TIMEOUT');
  });

  it('acquire several keys together, and enter their own lock again', async () => {
    const accounts = module.get(AccountsService);
    expect(await accounts.transfer('b', 'a', 5)).toBe('5 from b to a');
    expect(await accounts.close(['b', 'a', 'b'])).toEqual(['account:a', 'account:b']);
    expect(await accounts.withdraw('a')).toBe('booked a');
  });

  it('let a listener wait for the lock inside of which it was notified', async () => {
    const listener = module.get(StockListener);
    let rebuilt: Promise<string> | undefined;
    await module.get(LockService).withLock('stock:7', () => {
      rebuilt = listener.onStockChanged({ sku: '7' });
    });
    expect(await rebuilt).toBe('rebuilt 7');
  });

  it('extend a lease, and stop when it is lost', async () => {
    expect(await module.get(ImagesService).resize('a')).toBe('resized a');
    const importer = module.get(ImportService);
    await importer.importAll([1]);
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    importer.importPage = async (page) => {
      importer.imported.push(page);
      locks.lose('import');
    };
    await expect(importer.importAll([2, 3])).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(importer.imported).toEqual([1, 2]);
    expect(logged.mock.calls).toEqual([['ImportService.importAll lost its lock: deleted']]);
    logged.mockRestore();
  });
});

describe('The store of the guide', () => {
  it('excludes two applications, and serves a waiter by polling', async () => {
    const client = newKeyValueClient();
    const application = async () => {
      const imports = [LockModule.forRoot({ connection: new KeyValueLockStore(client) })];
      return (await Test.createTestingModule({ imports }).compile()).init();
    };
    const [one, other] = [await application(), await application()];
    const first = await one.get(LockService).acquire('report');
    expect(await other.get(LockService).tryAcquire('report')).toBeNull();
    const waiting = other.get(LockService).acquire('report', { wait: '5s' });
    await first.release();
    const second = await waiting;
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    await second.release();
    await Promise.all([one.close(), other.close()]);
  });
});
