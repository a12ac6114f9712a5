import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { manifest } from './library.mjs';

/** The most CPU time of a program that loads the core entry, as a multiple of an empty program. */
const MOST = 2.3;
/** The same without the time of ioredis. */
const MOST_WITHOUT_IOREDIS = 1.5;
/** Measured at most three times, because other work on the machine changes the ratio by a tenth; a slower entry is above the bound each time. */
const PROCESSES = [11, 33, 33];

const CORE = `${manifest.name}/core`;
const WAYS = {
  import: { options: ['--input-type=module'], load: (name) => `await import('${name}');` },
  require: { options: ['--input-type=commonjs'], load: (name) => `require('${name}');` },
};

/**
 * How long a program without Nest takes to load the entry, in turn with an empty program and with ioredis alone. The bounds hold where
 * NODE_EXTRA_CA_CERTS is set: Node 20 reads those certificates at each start. Without them, ioredis alone takes three empty programs.
 */
export function loadCore({ plain }) {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  try {
    const certificates = join(folder, 'certificates.pem');
    writeFileSync(certificates, rootCertificates.join('\n'));
    return loadsOf(plain, { ...process.env, NODE_EXTRA_CA_CERTS: certificates });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function loadsOf(plain, env) {
  return Object.entries(WAYS)
    .map(([way, { options, load }]) => {
      let measured;
      for (const processes of PROCESSES) {
        measured = ratiosOf(options, load, { cwd: plain, env }, processes);
        if (!isAbove(measured)) break;
      }
      return `${way} ${checked(way, measured)}`;
    })
    .join(', ');
}

const isAbove = ({ all, own }) => all > MOST || own > MOST_WITHOUT_IOREDIS;

function ratiosOf(options, load, where, processes) {
  const times = { empty: [], ioredis: [], core: [] };
  for (let i = 0; i < processes; i += 1) {
    times.empty.push(spent([...options, '-e', spentIn('')], where));
    // By `require`, as both formats of the entry load it.
    times.ioredis.push(spent([...WAYS.require.options, '-e', spentIn(WAYS.require.load('ioredis'))], where));
    times.core.push(spent([...options, '-e', spentIn(load(CORE))], where));
  }
  const [empty, ioredis, core] = Object.values(times).map(median);
  return { all: core / empty, own: (empty + core - ioredis) / empty };
}

function checked(way, measured) {
  const { all, own } = measured;
  const ratios = `${all.toFixed(2)} times an empty program, ${own.toFixed(2)} times without ioredis`;
  if (!isAbove(measured)) return ratios;
  throw new Error(`${way} takes ${ratios}, but must take at most ${MOST} and ${MOST_WITHOUT_IOREDIS}`);
}

/** A program that does the work, and prints the CPU milliseconds since the start of its process. */
const spentIn = (work) => `${work} const { user, system } = process.cpuUsage(); console.log((user + system) / 1_000);`;

const spent = (args, where) => Number(execFileSync(process.execPath, args, { ...where, encoding: 'utf8' }));

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
