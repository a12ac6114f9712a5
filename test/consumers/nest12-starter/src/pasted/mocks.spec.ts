import { createMock, type DeepMocked } from '@golevelup/ts-vitest';
import { Test } from '@nestjs/testing';
import { LockTestingModule } from 'nestjs-distribute-lock/testing';

import { Carrier } from './carrier.js';
import { OrdersService } from './orders.service.js';

it('ships with a mocked carrier', async () => {
  // #region mocks
  const module = await Test.createTestingModule({
    imports: [LockTestingModule.forRoot()],
    providers: [OrdersService],
  })
    .useMocker(createMock) // mocks Carrier, but not the lock
    .compile();
  const carrier = module.get<DeepMocked<Carrier>>(Carrier);
  carrier.handOver.mockResolvedValue('done');
  expect(await module.get(OrdersService).ship('42')).toBe('done');
  // #endregion
});

it('fails when the lock is a mock', async () => {
  const module = await Test.createTestingModule({ providers: [OrdersService] })
    .useMocker(() => createMock<object>())
    .compile();
  await expect(module.get(OrdersService).ship('42')).rejects.toThrow(
    'LockTestingModule.forRoot()',
  );
});
