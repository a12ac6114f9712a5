import { Test } from '@nestjs/testing';
import { LockTestingModule } from 'nestjs-distribute-lock/testing';
import { createStubInstance, type SinonStubbedInstance } from 'sinon';

import { Carrier } from './carrier.js';
import { OrdersService } from './orders.service.js';

it('ships with a mocked carrier', async () => {
  // #region mocks
  const module = await Test.createTestingModule({
    imports: [LockTestingModule.forRoot()],
    providers: [OrdersService],
  })
    .useMocker((token) => createStubInstance(token as typeof Carrier))
    .compile();
  const carrier = module.get<SinonStubbedInstance<Carrier>>(Carrier);
  carrier.handOver.resolves('done');
  expect(await module.get(OrdersService).ship('42')).toBe('done');
  // #endregion
});

it('fails when the lock is a mock', async () => {
  const module = await Test.createTestingModule({ providers: [OrdersService] })
    .useMocker(() => createStubInstance(Carrier))
    .compile();
  await expect(module.get(OrdersService).ship('42')).rejects.toThrow(
    'LockTestingModule.forRoot()',
  );
});
