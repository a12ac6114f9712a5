import { within } from '../support/eventually.js';
import { launchStarter } from './support/demo-starter.js';
import { post } from './support/http.js';

const ENDS_WITHIN_MS = 15_000;

// The tests start up to eight servers and two instances, and the machine may be busy.
import.meta.jest.setTimeout(60_000);

describe('npm start -- --topology', () => {
  it.each([
    ['sentinel', 6],
    ['cluster', 6],
    ['quorum', 5],
  ])(
    '%s starts its servers and two instances that keep each other out, and ends them all',
    async (topology, servers) => {
      const demo = await launchStarter({ npm: true, topology });
      await demo.ready();
      // npm and its shell are parents of the starter; two instances, the servers and their keeper are its children.
      expect(demo.running().length).toBeGreaterThanOrEqual(servers + 3);
      const work = { channel: 'web', workMs: 4_000 };
      const answers = await Promise.all(demo.urls.map((url) => post(`${url}/post-test`, work)));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409]);
      expect((await post(`${demo.urls[1]}/post-test`, { ...work, workMs: 0 })).status).toBe(201);

      await within(ENDS_WITHIN_MS, 'the end of npm start', demo.kill('SIGTERM'));

      await demo.assertNothingLeft();
    },
  );
});
