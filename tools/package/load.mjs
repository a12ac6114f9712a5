import { execFileSync } from 'node:child_process';
import { manifest, neededBy } from './library.mjs';

/**
 * The most that the package may take, as a part of the time that its peers take in the same process. Where they take 220 ms,
 * this is 18 ms. Both find, read, compile and run files for the first time, so a busy machine delays both alike. Compared
 * with compilations of one text, the ratio was 7 % higher beside three busy processes, and 30 % higher in another sitting.
 */
const MOST = 0.083;
const PROCESSES = 11;
/** Other load may affect one half of a process more than the other, so the first median below the bound counts. */
const ROUNDS = 4;
/** No other load explains a median above this, so it fails at once. */
const CLEARLY_TOO_MUCH = 2 * MOST;
const PAUSE_MS = 3_000;

const peers = neededBy(manifest);
/**
 * CPU time equals elapsed time on an idle machine, and changes little on a busy one. The pause lets Node finish work
 * that the peers have caused: a garbage collection takes 8 ms.
 *
 * Without `--no-opt` V8 optimizes functions of Node's loader in another thread, because Nest's 500 files made them hot. That
 * delays no application, but its CPU time counts.
 */
const script = (by) => `
  const pause = () => new Promise((resolve) => setTimeout(resolve, 100));
  const spent = async (work) => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  (async () => {
    const reference = await spent(async () => {
      ${peers.map((name) => `await ${by}('${name}');`).join(' ')}
    });
    await pause();
    console.log(await spent(() => ${by}('${manifest.name}')), reference);
  })();`;
const WAYS = {
  import: ['--no-opt', '--input-type=module', '-e', script('import')],
  require: ['--no-opt', '--input-type=commonjs', '-e', script('require')],
};

/** How long the package takes to load in a fresh process that has loaded Nest and ioredis before. */
export function load({ installed }) {
  return Object.entries(WAYS)
    .map(([way, options]) => `${way} ${described(firstBelow(way, options, installed))}`)
    .join(', ');
}

function firstBelow(way, options, cwd) {
  const medians = [];
  while (medians.length < ROUNDS) {
    if (medians.length > 0) pause();
    const times = Array.from({ length: PROCESSES }, () => timesOf(options, cwd)).sort((a, b) => a.ratio - b.ratio);
    const median = times[Math.floor(PROCESSES / 2)];
    if (median.ratio < MOST) return median;
    medians.push(median);
    if (median.ratio > CLEARLY_TOO_MUCH) break;
  }
  throw new Error(
    `${way} takes ${medians.map(described).join(', ')} (medians of ${PROCESSES}), but must take less than ${MOST} times that`,
  );
}

const described = ({ ms, ratio }) => `${ms.toFixed(1)} ms, ${ratio.toFixed(3)} times the peers`;

function pause() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}

function timesOf(options, cwd) {
  const output = execFileSync(process.execPath, options, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const [ms, reference] = output.split(' ').map(Number);
  return { ms, ratio: ms / reference };
}
