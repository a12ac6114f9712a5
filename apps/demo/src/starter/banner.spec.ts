import { banner, instanceName } from './banner.js';

const ALICE = 'http://127.0.0.1:3000';
const BOB = 'http://127.0.0.1:3001';

describe('banner', () => {
  it('names the store of the locks and the instances', () => {
    const text = banner('a private redis-server', [ALICE, BOB]);

    expect(text).toContain('locks live in a private redis-server');
    expect(text).toContain(`instance A: ${ALICE} `);
    expect(text).toContain(`instance B: ${BOB} `);
    expect(text).toContain(`${ALICE}/docs`);
  });

  it('sends the two requests to different processes when two exist', () => {
    expect(banner('', [ALICE, BOB])).toContain(`${BOB}/post-test`);
    expect(banner('', [ALICE])).not.toContain('3001');
  });

  it('names instances by letters', () => {
    expect([0, 1].map(instanceName)).toEqual(['A', 'B']);
  });
});
