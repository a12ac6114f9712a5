import { Test } from '@nestjs/testing';

import { AppModule, ConfigService, Orders, Reports } from './guide/configuration.js';

describe('The examples of the page on configuration', () => {
  it('acquire locks with the options of the preset and of the instance', async () => {
    const module = await Test.createTestingModule({
      imports: [AppModule],
      providers: [ConfigService, Orders, Reports],
    }).compile();
    await module.init();
    try {
      const [checkout, report] = [await module.get(Orders).checkout('7'), await module.get(Reports).write('mon')];
      expect([checkout.key, report.key]).toEqual(['checkout:7', 'report:eu:mon']);
    } finally {
      await module.close();
    }
  });
});
