import { spawn, type ChildProcess } from 'node:child_process';

/** Reads "+ pid" and "- pid"; kills the remaining pids when its input ends for any reason. */
const GUARD = `
trap '' INT TERM HUP
pids=' '
while read -r sign pid; do
  case $sign in
    +) pids="$pids$pid " ;;
    -) pids="\${pids%% $pid *} \${pids#* $pid }" ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
`;

const guarded = new Set<number>();
let guard: ChildProcess | undefined;

/**
 * Kills `pid` when this process ends, also by SIGKILL, and also when `pid` is stopped. Returns a function that removes
 * the guard: call it as soon as the process has ended.
 */
export function guardProcess(pid: number): () => void {
  if (process.platform === 'win32') return () => {};
  guard ??= startGuard();
  guarded.add(pid);
  guard.stdin?.write(`+ ${pid}\n`);
  return () => {
    if (!guarded.delete(pid)) return;
    guard?.stdin?.write(`- ${pid}\n`);
    if (guarded.size > 0) return;
    guard?.stdin?.end();
    guard = undefined;
  };
}

function startGuard(): ChildProcess {
  // detached, because Ctrl-C in the terminal ends this process and the guard must outlive it
  const started = spawn('/bin/sh', ['-c', GUARD], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  started.unref();
  started.stdin.on('error', () => {}); // a killed guard needs no message
  (started.stdin as unknown as { unref(): void }).unref();
  return started;
}
