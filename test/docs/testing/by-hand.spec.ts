import './set-up.js';
import { Carrier } from './carrier.js';
import { OrdersService } from './orders.service.js';

it('locks an object that a test creates with new', async () => {
  const orders = new OrdersService(new Carrier());
  expect(await orders.ship('42')).toBe('label of 42: handed over');
});
