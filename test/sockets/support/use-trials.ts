import { expectBelow } from '../../fault/support/bound.js';
import { LockProcess } from '../../fault/support/lock-process.js';
import { PREFIX } from '../../fault/support/lock-core.js';
import { useTopology } from '../../fault/support/use-topology.js';
import { eventually } from '../../support/eventually.js';
import { startSocketProxy } from './socket-proxy.js';
import { topologies, type TopologyName } from './topologies.js';
import { runTrial, type Affected, type Fault, type Report } from './trial.js';

const MB = 1024 * 1024;
/** A probe every 0.5 s while something is expected, and 2.5 s without a byte. */
const DETECTED_MS = 4_000;

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
      for (const [f, t] of trials)
        process.stderr.write(`${name} ${f.role} ${f.fault} ${await t.then(JSON.stringify, String)}\n`);
    }, 120_000);

    describe.each(faults.map((fault) => [`${fault.role}: ${fault.fault}`, fault] as const))('%s', (_, fault) => {
      it('no two holders, nothing left behind', async () => {
        const report = await trials.get(fault)!;
        expect(report).toMatchObject({ overlaps: 0, fencingTokensRise: true, settled: true, trouble: [] });
        await eventually(async () => expect(await world.left(keys.get(fault)!)).toBe(0), 2_000);
      });

      it('is detected, and all processes get locks again', async () => {
        const { healthyShare, affectedGapMs, recoveredMs, detectedMs } = await trials.get(fault)!;
        if (fault.replaced === true) expectBelow(detectedMs ?? Infinity, DETECTED_MS);
        expect(affectedGapMs).toBeLessThan(recoveryMs);
        expect(healthyShare).toBeGreaterThan(0.5);
      });

      it('costs little memory, CPU and few commands', async () => {
        const { grownBytes, cpuShare, requestsBefore, requestsAfter } = await trials.get(fault)!;
        expect(grownBytes).toBeLessThan(10 * MB);
        expect(cpuShare).toBeLessThan(0.3);
        expect(requestsAfter).toBeLessThan(2 * requestsBefore + 40);
      });
    });
  });
}
