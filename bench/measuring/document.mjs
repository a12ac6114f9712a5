import { pictures } from '../../tools/documents/plots.mjs';
import { machine } from './machine.mjs';
import { behind, section } from './report.mjs';

/** Renders docs/benchmarks.md. */
export async function document(results, settings, minutes) {
  const parts = [
    '# Benchmarks',
    '`npm run bench` writes this page; `bench/` contains the workloads. `npm run bench -- --quick` takes three minutes, prints the same tables and writes nothing.',
    '## The run',
    [`- ${new Date().toISOString().slice(0, 10)}, ${minutes} minutes`, ...(await machine()), ...method(settings)].join(
      '\n',
    ),
    '## How far to trust it',
    TRUST,
    '## In pictures',
    pictures,
    '## Where we are not ahead',
    'From this run of `npm run bench`. The section of each workload names the command that repeats it.',
    behind(results),
    ...results.map(section),
  ];
  return `${parts.join('\n\n')}\n`;
}

const method = ({ rounds, peerRounds, uncontendedMs, loopMs }) => [
  `- ${rounds} rounds. A round measures all subjects one after the other, ratios are taken within it, and tables show medians. Libraries that poll have ${peerRounds} rounds where they wait.`,
  `- A run of the uncontended cycle takes ${uncontendedMs} ms, one of the looping callers ${loopMs} ms, after a warm-up.`,
  '- `raw` is `SET NX PX` and `EVALSHA` with compare-and-delete on ioredis 6. `raw-queue` adds a FIFO for each key in the process, and polls every millisecond between processes.',
  '- This library runs as built, through `LockService`, with `ttl` and `wait` in the call, release awaited, fencing and renewal on.',
  '- The other libraries run as their documentation says, with a ttl of 30 s and without a limit for waiting.',
  '- Commands are all that a client sends for locks, from `INFO commandstats`; commands inside scripts are not counted. CPU is user and system time of the client process.',
];

const TRUST = [
  '- Compare ratios within a row. Absolute figures hold for this machine only: on loopback a round trip is mostly the time to wake two processes.',
  '- With one client at a time, a microsecond of work costs more than a microsecond of latency, because the other side goes to sleep. Expect 10 % between runs, and 20 % on a busy machine.',
  '- The rounds of a figure show its spread. A smaller difference means nothing.',
  '- Ratios depend on the processor too. Two editions of this page compare only if the same machine wrote both.',
  '- Client CPU counts one process on one core. Heap figures exclude other memory of the runtime.',
  '- Other libraries poll, so their waiting rows depend on their intervals. Some have an option to poll faster, for more commands; that is not measured.',
  '- `redlock` and `@microfleet/ioredis-lock` run on ioredis 5, for which they were made. `simple-redis-mutex` runs on node-redis, the rest on ioredis 6.',
].join('\n');
