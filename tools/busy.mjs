#!/usr/bin/env node
/**
 * Runs a command while two other processes keep the cores of the machine busy. Ends with the exit code of the command.
 *   usage: busy.mjs npm test -- [options of the command]
 */
import { spawn } from 'node:child_process';

const BUSY = 2;
// A large array competes for the caches, too. The process ends with its standard input, also when this one is killed.
const WORK = `
  process.stdin.on('end', () => process.exit()).resume();
  const numbers = new Float64Array(4_000_000);
  let at = 0;
  (function work() {
    for (let i = 0; i < 1_000_000; i += 1) numbers[at = (at + 7_919) % numbers.length] += i;
    setImmediate(work);
  })();`;

const others = Array.from({ length: BUSY }, () =>
  spawn(process.execPath, ['-e', WORK], { stdio: ['pipe', 'ignore', 'inherit'] }),
);
const [command, ...words] = process.argv.slice(2);
const child = spawn(command, words, { stdio: 'inherit' });
child.on('exit', (code) => {
  for (const other of others) other.kill();
  process.exitCode = code ?? 1;
});
