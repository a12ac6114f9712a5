import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** The pids of everything that `root` has started, and what those have started, and so on. */
export function descendants(root: number): number[] {
  const parents = parentOfEach();
  const found = new Set([root]);
  // A child may have a smaller pid than its parent once the numbers have gone round, so look until nothing is new.
  for (let before = 0; before < found.size;) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  found.delete(root);
  return [...found];
}

/** Whether the process is there; one that has ended and was not yet collected is not. */
export function runs(pid: number): boolean {
  return parentOfEach().has(pid);
}

function parentOfEach(): Map<number, number> {
  return new Map(existsSync('/proc/self/stat') ? fromProc() : fromPs());
}

function fromProc(): [number, number][] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(name));
}

function statOf(pid: string): [number, number][] {
  try {
    // pid (name, which may hold anything) state parent ...
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return state === 'Z' ? [] : [[Number(pid), Number(parent)]];
  } catch {
    return []; // it has ended meanwhile
  }
}

/** Where there is no /proc, `ps` exists. */
function fromPs(): [number, number][] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state = '']) => !state.startsWith('Z'))
    .map(([pid, parent]) => [Number(pid), Number(parent)]);
}
