import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** The pids of all descendants of `root`. */
export function descendants(root: number): number[] {
  const parents = parentOfEach();
  const found = new Set([root]);
  // A child may have a smaller pid than its parent after an overflow, so repeat until no pid is new.
  for (let before = 0; before < found.size;) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  found.delete(root);
  return [...found];
}

/** Whether the process runs; a zombie does not. */
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
    // pid (name, which may contain any character) state parent ...
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return state === 'Z' ? [] : [[Number(pid), Number(parent)]];
  } catch {
    return []; // the process has ended since
  }
}

/** Without /proc, the system has `ps`. */
function fromPs(): [number, number][] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state = '']) => !state.startsWith('Z'))
    .map(([pid, parent]) => [Number(pid), Number(parent)]);
}
