import { expectBelow, record } from '../../fault/support/bound.js';
import { useTopology, type TopologyWorld } from '../../fault/support/use-topology.js';
import { eventually } from '../../support/eventually.js';
import { startFaultProxy } from '../../support/proxy/fault-proxy.js';
import { topologies, type TopologyName } from './topologies.js';
import { runTrial, type Affected, type Fault, type Report } from './trial.js';

const MB = 1024 * 1024;
/**
 * The library probes a subscription with waiters after 1.5 s and closes it 2.5 s later. A late tick on a busy machine
 * restarts the limit.
 */
const DETECTED_MS = 7_000;

/** Shows how fast the machine is: nothing fails. */
const NO_FAULT: Fault = { role: 'no process', fault: 'nothing fails', begin: async () => {} };

interface Trial {
  readonly title: string;
  readonly fault: Fault;
  readonly key: string;
  affected?: Affected;
  report: Promise<Report>;
}

/** Tests for each fault on this topology. The trials run in parallel, before the first test. */
export function describeFaults(name: TopologyName, faults: readonly Fault[], recoveryMs = 8_000): void {
  describe(name, () => {
    const world = useTopology(topologies[name]);
    const trials = faults.map((fault) => newTrial(world, fault));
    const control = newTrial(world, NO_FAULT);
    beforeAll(() => runAll(world, [...trials, control], recoveryMs), 120_000);
    describe.each(trials)('$title', (trial) => expectOf(world, trial, control, recoveryMs));
  });
}

function newTrial(world: TopologyWorld, fault: Fault): Trial {
  const report = Promise.reject<Report>(new Error('The trial has not started'));
  report.catch(() => {});
  return { title: `${fault.role}: ${fault.fault}`, fault, key: world.newKey(), report };
}

async function runAll(world: TopologyWorld, trials: readonly Trial[], recoveryMs: number): Promise<void> {
  // All processes use proxies: on a quorum the fastest process gets the lock.
  const healthy = [world.locks(await waysOf(world)), world.locks(await waysOf(world))];
  await Promise.all(healthy.map(({ engine }) => engine.connect()));
  // Sequential, because a start uses a whole engine.
  for (const trial of trials) trial.affected = await affectedBy(world, trial.key);
  for (const trial of trials) {
    trial.report = runTrial(trial.fault, { key: trial.key, affected: trial.affected!, healthy, recoveryMs });
  }
  await Promise.allSettled(trials.map(({ report }) => report));
}

const waysOf = ({ servers }: TopologyWorld) => Promise.all(servers.map(({ port }) => startFaultProxy(port)));

async function affectedBy(world: TopologyWorld, key: string): Promise<Affected> {
  const ways = await waysOf(world);
  const [port] = await world.onHomes(key, (redis) => Promise.resolve(redis.options.port));
  const home = ways[world.servers.findIndex((server) => server.port === port)];
  return { process: await world.process(ways), ways, home };
}

function expectOf(world: TopologyWorld, trial: Trial, control: Trial, recoveryMs: number): void {
  it('leads to no second holder, and leaves no key behind', async () => {
    const report = await trial.report;
    expect(report).toMatchObject({ overlaps: 0, fencingTokensRise: true, settled: true, trouble: [] });
    await eventually(async () => expect(await world.left(trial.key)).toBe(0), 2_000);
  });

  it('is detected, and every process gets locks again', async () => {
    const { healthyShare, affectedGapMs, recoveredMs, detectedMs } = await trial.report;
    record({ recoveredMs, affectedGapMs, ...(detectedMs !== undefined && { detectedMs }) });
    if (trial.fault.replaced === true) expect(detectedMs).toBeLessThan(DETECTED_MS);
    expectBelow(affectedGapMs, recoveryMs);
    // The trials run at the same time. A machine that becomes slower also has a lower rate without a fault.
    const machineShare = Math.min(1, (await control.report).healthyShare);
    expect(healthyShare).toBeGreaterThan(0.5 * machineShare);
  });

  it('costs little memory, CPU and few commands', async () => {
    const { grownBytes, cpuShare, requestsBefore, requestsAfter } = await trial.report;
    expect(grownBytes).toBeLessThan(10 * MB);
    expect(cpuShare).toBeLessThan(0.3);
    expect(requestsAfter).toBeLessThan(2 * requestsBefore + 40);
  });
}
