import { machine } from './machine.mjs';
import { behind, section } from './report.mjs';

/** Renders docs/benchmarks.md. */
export async function document(results, settings, minutes) {
  const parts = [
    '# Benchmarks',
    'Written by `npm run bench`; what is measured and how is in `bench/`. `npm run bench -- --quick` takes three minutes, prints the same tables and writes nothing.',
    '## The run',
    [`- ${new Date().toISOString().slice(0, 10)}, ${minutes} minutes`, ...(await machine()), ...method(settings)].join(
      '\n',
    ),
    '## How far to trust it',
    TRUST,
    '## Where we are not ahead',
    behind(results),
    ...results.map(section),
  ];
  return `${parts.join('\n\n')}\n`;
}

const method = ({ rounds, peerRounds, uncontendedMs, loopMs }) => [
  `- ${rounds} rounds; in a round all are measured one after the other, and ratios are taken within it; the tables show medians. Libraries that poll are measured in ${peerRounds} rounds where they have to wait`,
  `- a run of the uncontended cycle takes ${uncontendedMs} ms, one of the looping callers ${loopMs} ms, after a warm-up`,
  '- `raw` is `SET NX PX` and `EVALSHA` with compare-and-delete on ioredis 6; `raw-queue` puts a FIFO for each key in the process before them and polls every millisecond between processes',
  '- this library is used through `LockService`, as built, with `ttl` and `wait` in the call, release awaited, fencing and renewal on; the others as their documentation says, with a ttl of 30 s and without a limit to waiting',
  '- commands are all that a client sends for locks, from `INFO commandstats`; what scripts call is not counted. CPU is user and system time of the client process',
];

const TRUST = [
  '- Ratios within a row are what counts. Absolute figures hold for this machine only: on loopback a round trip is mostly the waking of two processes, and a network adds its own.',
  '- With one client at a time a microsecond of work in the client or in Redis costs more than a microsecond of latency, because the other side falls asleep. Expect 10 % between runs there, and 20 % on a machine that does other things too.',
  '- The rounds of a figure show how much it moved. What differs by less than that is equal.',
  '- Client CPU counts one process on one core; memory of the runtime that is not on the heap is not counted.',
  '- Peers poll, so their waiting rows depend on their intervals more than on their code. Some have an option to poll faster, at the price of more commands; that is not measured.',
  '- `redlock` and `@microfleet/ioredis-lock` run on ioredis 5, which is what they were made for, `simple-redis-mutex` on node-redis; the rest on ioredis 6.',
].join('\n');
