import { demoSettings } from './demo-settings.js';

describe('demoSettings', () => {
  it('uses the loopback interface and works for 10 s by default', () => {
    expect(demoSettings({})).toEqual({
      instance: 'port 3000',
      host: '127.0.0.1',
      port: 3000,
      connection: undefined,
      prefix: undefined,
      inMemory: false,
      workMs: 10_000,
    });
  });

  it('treats an empty variable like an unset one', () => {
    expect(demoSettings({ PORT: '', REDIS_URL: '', DEMO_PREFIX: '', DEMO_WORK_MS: '', HOST: '' })).toEqual(
      demoSettings({}),
    );
  });

  it.each(['many', '-1', '1.5', '65536', '0x10', ' 80', '1e3'])('rejects PORT=%s', (PORT) => {
    expect(() => demoSettings({ PORT })).toThrow(
      `PORT is ${JSON.stringify(PORT)}, but it must be a whole number from 0 to 65535.`,
    );
  });

  it('rejects work for longer than a minute', () => {
    expect(() => demoSettings({ DEMO_WORK_MS: '60001' })).toThrow('DEMO_WORK_MS');
  });
});
