/**
 * The main script of a client whose instructions valgrind counts: runs the cycles of one step, and lets valgrind write the count
 * at the start and at the end of the cycles that count.
 *
 * Each step adds a part of the library to the one before, so the difference of two steps is the cost of that part. The step `engine`
 * calls what is not public.
 */
import { execFileSync } from 'node:child_process';
import { LockService } from 'nestjs-distribute-lock';

import { openApplication } from '../adapters/ours.mjs';
import { RawLocks } from '../adapters/raw.mjs';
import { decorate, Decorated } from '../workloads/support/decorated.mjs';

const OPTIONS = { ttl: '30s', wait: '10m' };
/** The optimizing compiler of the runtime is done by then. */
const WARM_UP_CYCLES = 20_000;

const STEPS = {
  async bare({ url }) {
    const raw = await RawLocks.open(url);
    return async (key) => raw.release(await raw.try(key));
  },
  async engine({ locks }) {
    const { engine } = locks;
    const options = Object.freeze({ ...engine.defaults, waitMs: 600_000 });
    return async (key) => {
      const lease = await engine.acquire({ key, name: 'engine', options, scoped: false, signal: undefined });
      await lease.release();
    };
  },
  async acquire({ locks }) {
    return async (key) => {
      const lease = await locks.acquire(key, OPTIONS);
      await lease.release();
    };
  },
  async withLock({ locks }) {
    const work = async () => undefined;
    return (key) => locks.withLock(key, OPTIONS, work);
  },
  async decorated({ service }) {
    return (_, id) => service.settle({ id });
  },
};

const [step, loopsText, windowsText, cyclesText, url] = process.argv.slice(2);
if (step === 'decorated') decorate(OPTIONS);
const application = step === 'bare' ? undefined : await openApplication(url, [Decorated], { connectOnBoot: false });
const cycle = await STEPS[step]({
  url,
  locks: application?.get(LockService),
  service: application?.get(Decorated),
});
await run(WARM_UP_CYCLES);
writeCount();
for (let window = 0; window < Number(windowsText); window += 1) {
  await run(Number(cyclesText));
  writeCount();
}
process.exit();

async function run(cycles) {
  let left = cycles;
  const loop = async (_, i) => {
    while (left > 0) {
      left -= 1;
      await cycle(`lock:${i}`, i);
    }
  };
  await Promise.all(Array.from({ length: Number(loopsText) }, loop));
}

function writeCount() {
  execFileSync('callgrind_control', ['--dump', String(process.pid)], { stdio: 'ignore' });
}
