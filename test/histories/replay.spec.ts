import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { runScript, type RunScript } from '../support/run-script.js';
import { loadRules } from '../support/load-rules.js';
import { PLANTS } from '../model/plants.mjs';
import { faultOfReplay } from './replay/judge-replay.js';
import { logEntries, type LogEntry } from './replay/log-entries.js';
import { replayHistory } from './replay/replay-history.js';
import { emptyReport, Replay, type ReplayReport } from './replay/replay.js';
import { LOGS } from './replay/server-log.js';
import { runHistory } from './run/history-run.js';

/** Changes of the rules of each kind whose effect a short history without faults shows. */
const PLANTED = [
  'take-held',
  'queue-without-end',
  'fence-without-clock',
  'lock-outlives-no-reader',
  'last-reader-does-not-decide',
  'one-permit-too-many',
  'offers-are-not-counted',
  'one-of-several-held',
];

const CALL_DIFFERS = /^replay: a call of the script "[\w-]+" at \d+\.\d+ differs\n {2}keys: f1:lock::5 lock:/;
const BOTH = /\n {2}(reply|messages|keys afterwards) in Redis: {2}.*\n {2}\1 by the rules: .*(\n.*)*\n {2}keys before/;
const KEYS_DIFFER = /^replay: the keys at \d+\.\d+ \(checkpoint "\w+"\) differ(\n {2}(Redis|rules): \S+ = .*)+$/;

describe('The replay of a history', () => {
  let folder: string;

  beforeAll(async () => {
    ({ folder } = await runHistory({ seed: 1, operations: 300, mood: 'calm' }));
  }, 300_000);

  afterAll(() => rm(folder, { recursive: true }));

  it('finds no difference between Redis and the rules', async () => {
    expect(faultOfReplay(await replayHistory(folder, runScript))).toBeUndefined();
  });

  it.each(PLANTED)('finds a planted difference of the rules: %s', async (name) => {
    const plant = PLANTS.find((each) => each.name === name);
    const changed = await loadRules<{ runScript: RunScript }>('test/support/run-script.ts', { changes: [plant!] });
    const { differences } = await replayHistory(folder, changed.runScript);

    expect(differences.length).toBeGreaterThan(0);
    for (const difference of differences)
      expect(difference).toMatch(CALL_DIFFERS.test(difference) ? BOTH : KEYS_DIFFER);
  });

  it('finds a call whose record is lost', async () => {
    const entries = await entriesOf(folder);
    const lost = entries.findIndex((entry) => entry.type === 'call' && entry.args[0]?.startsWith('w '));

    expect(replayOf(entries.toSpliced(lost, 1)).differences).not.toEqual([]);
  });

  it('finds a difference of the keys, although all replies are equal', async () => {
    const entries = await entriesOf(folder);
    const at = entries.findLastIndex(({ type }) => type === 'checkpoint');
    const key = ['lock:more', 'a token', '-1'] as const;
    const changed = { ...entries[at], keys: [key] } as LogEntry;

    expect(replayOf(entries.with(at, changed)).differences).toEqual([
      expect.stringContaining('  Redis: lock:more = a token (ends at -1)\n  rules: f1:lock::5 = '),
    ]);
  });

  it('waits for the next checkpoint after a command with an unknown effect', async () => {
    const entries = await entriesOf(folder);
    const at = entries.findIndex(({ type }) => type === 'call');
    const unknown: LogEntry = { type: 'foreign', atMs: 0, words: ['RENAME', 'lock:a', 'lock:b'] };
    const { differences, skipped, endCompared } = replayOf(entries.toSpliced(at, 0, unknown));

    expect({ differences, skipped, endCompared }).toMatchObject({
      differences: [],
      skipped: { 'after RENAME': expect.any(Number) },
      endCompared: true,
    });
  });

  it('applies what other clients do to the keys', async () => {
    const entries = await entriesOf(folder);
    const at = entries.findIndex((entry) => entry.type === 'call' && entry.args[0]?.startsWith('w ')) + 1;
    const added: LogEntry = { type: 'foreign', atMs: 0, words: ['FLUSHALL'] };

    expect(replayOf(entries.toSpliced(at, 0, added)).differences).not.toEqual([]);
  });

  it.each<[string, Partial<ReplayReport>]>([
    ['The keys at the end were not compared', { endCompared: false }],
    ['Only 80 of 100 calls of scripts were replayed', { replayed: 80 }],
    ['Only 0 of 0 calls of scripts were replayed', { calls: 0, replayed: 0 }],
    ['1 differences between Redis and the rules', { differences: ['a difference'] }],
  ])('fails: %s', (text, change) => {
    const good = { ...emptyReport(), calls: 100, replayed: 96, endCompared: true };

    expect(faultOfReplay(good)).toBeUndefined();
    expect(faultOfReplay({ ...good, ...change })).toContain(text);
  });
});

async function entriesOf(folder: string): Promise<LogEntry[]> {
  const [name] = await readdir(join(folder, LOGS));
  return logEntries(await readFile(join(folder, LOGS, name), 'latin1'));
}

function replayOf(entries: readonly LogEntry[]): ReplayReport {
  const report = emptyReport();
  new Replay(runScript, report).run(entries);
  return report;
}
