import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** A process of the machine. Its start tells it apart from a later process with the same number. */
export interface OneProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly startedAt: string;
}

/** Names a command among all processes: its first process, its group if it has one, and the mark in its environment. */
export interface OneCommand {
  readonly pid: number;
  /** Whether the first process leads a group, which contains nothing else. */
  readonly leadsGroup: boolean;
  /** `NAME=value` in the environment of each process of the command. */
  readonly mark: string;
}

/** The living processes of the command that can be found: those of its group, with its mark, and their descendants. */
export function processesOf({ pid, leadsGroup, mark }: OneCommand): OneProcess[] {
  const all = livingProcesses();
  const own = all.filter((one) => one.pid !== process.pid && (one.pid === pid || (leadsGroup && one.group === pid)));
  const marked = leadsGroup ? [] : all.filter((one) => one.pid !== process.pid && hasMark(one, mark));
  const found = new Set([...own, ...marked]);
  for (let before = -1; before !== found.size;) {
    before = found.size;
    const parents = new Set([...found].map((one) => one.pid));
    for (const one of all) if (parents.has(one.parent)) found.add(one);
  }
  return [...found];
}

/** Sends the signal to each process that is still the same one. */
export function signalEach(processes: readonly OneProcess[], signal: NodeJS.Signals): void {
  const present = new Map(livingProcesses().map((one) => [one.pid, one.startedAt]));
  for (const { pid, startedAt } of processes) if (present.get(pid) === startedAt) sendSignal(pid, signal);
}

/** Sends a signal to a process, or to a group by its negative number. Returns whether a process got it. */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false; // it has ended
  }
}

function livingProcesses(): OneProcess[] {
  return process.platform === 'linux' ? ofProc() : ofPs();
}

function ofProc(): OneProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const text = readProc(name, 'stat');
      // The name of the program may contain spaces and parentheses.
      const [state, parent, group, ...more] = text.slice(text.lastIndexOf(')') + 2).split(' ');
      if (group === undefined || state === 'Z' || state === 'X') return [];
      return [{ pid: Number(name), parent: Number(parent), group: Number(group), startedAt: more[16] }];
    });
}

function ofPs(): OneProcess[] {
  const text = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,state=,lstart='], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => {
    const [pid, parent, group, state, ...start] = line.trim().split(/\s+/);
    if (group === undefined || state.startsWith('Z')) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), startedAt: start.join(' ') }];
  });
}

/** Only Linux shows the environment of other processes. */
const hasMark = ({ pid }: OneProcess, mark: string): boolean =>
  process.platform === 'linux' && `\0${readProc(`${pid}`, 'environ')}`.includes(`\0${mark}\0`);

/** Empty when the process has ended, or belongs to another user. */
function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
