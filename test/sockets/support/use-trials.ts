import { expectBelow, record } from '../../fault/support/bound.js';
import { useTopology } from '../../fault/support/use-topology.js';
import { eventually } from '../../support/eventually.js';
import { startSocketProxy } from './socket-proxy.js';
import { topologies, type TopologyName } from './topologies.js';
import { runTrial, type Affected, type Fault, type Report } from './trial.js';

const MB = 1024 * 1024;
/** An idle subscription with waiters is probed after 1.5 s, and closed 2.5 s after the first probe without a reply. */
const DETECTED_MS = 5_500;

/** One test for each fault on this topology. The trials run side by side, before the first test. */
export function describeFaults(name: TopologyName, faults: readonly Fault[], recoveryMs = 8_000): void {
  describe(name, () => {
    const world = useTopology(topologies[name]);
    const trials = new Map<Fault, Promise<Report>>();
    const keys = new Map<Fault, string>();

    const newWays = () => Promise.all(world.servers.map(({ port }) => startSocketProxy(port)));

    async function affectedBy(key: string): Promise<Affected> {
      const ways = await newWays();
      const homes = await world.onHomes(key, (redis) => Promise.resolve(redis.options.port));
      const home = ways[world.servers.findIndex(({ port }) => port === homes[0])];
      return { process: await world.process(ways), ways, home };
    }

    beforeAll(async () => {
      // Through proxies as well: on a quorum the quickest gets the lock.
      const healthy = [world.locks(await newWays()), world.locks(await newWays())];
      await Promise.all(healthy.map(({ core }) => core.connect()));
      const affected = new Map<Fault, Affected>();
      for (const fault of faults) keys.set(fault, world.newKey());
      // One after the other: a start keeps a core busy.
      for (const fault of faults) affected.set(fault, await affectedBy(keys.get(fault)!));
      for (const fault of faults) {
        const plan = { key: keys.get(fault)!, affected: affected.get(fault)!, healthy, recoveryMs };
        const trial = runTrial(fault, plan);
        trial.catch(() => {}); // its test rejects
        trials.set(fault, trial);
      }
      await Promise.allSettled(trials.values());
    }, 120_000);

    describe.each(faults.map((fault) => [`${fault.role}: ${fault.fault}`, fault] as const))('%s', (_, fault) => {
      const report = () => trials.get(fault)!;

      it('leads to no second holder, and leaves no key behind', async () => {
        expect(await report()).toMatchObject({ overlaps: 0, fencingTokensRise: true, settled: true, trouble: [] });
        await eventually(async () => expect(await world.left(keys.get(fault)!)).toBe(0), 2_000);
      });

      it('is detected, and every process gets locks again', async () => {
        const { healthyShare, affectedGapMs, recoveredMs, detectedMs } = await report();
        record({ recoveredMs, affectedGapMs, ...(detectedMs !== undefined && { detectedMs }) });
        if (fault.replaced === true) expect(detectedMs).toBeLessThan(DETECTED_MS);
        expectBelow(affectedGapMs, recoveryMs);
        expect(healthyShare).toBeGreaterThan(0.5);
      });

      it('costs little memory, CPU and few commands', async () => {
        const { grownBytes, cpuShare, requestsBefore, requestsAfter } = await report();
        expect(grownBytes).toBeLessThan(10 * MB);
        expect(cpuShare).toBeLessThan(0.3);
        expect(requestsAfter).toBeLessThan(2 * requestsBefore + 40);
      });
    });
  });
}
