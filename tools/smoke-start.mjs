#!/usr/bin/env node
/** Runs `npm start` like a user: both instances must respond, and SIGTERM to npm must end all of its processes. */
import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const STARTS_WITHIN_MS = 120_000;
const ENDS_WITHIN_MS = 15_000;

const port = await twoFreePorts();
const npm = spawn('npm', ['start'], {
  env: { ...process.env, PORT: String(port) },
  stdio: ['ignore', 'inherit', 'inherit'],
});
const ended = new Promise((resolve) => void npm.once('exit', (code, signal) => resolve(signal ?? code)));
let started = [];

try {
  const instances = await Promise.all([health(port), health(port + 1)]);
  if (instances[0].instance === instances[1].instance) throw new Error('both ports lead to one instance');
  started = descendants(npm.pid);
  npm.kill('SIGTERM');
  const how = await Promise.race([ended, delay(ENDS_WITHIN_MS, 'not at all', { ref: false })]);
  await untilGone(started);
  console.log(`smoke: ${started.length} processes behind npm start, all gone; npm ended by ${how}`);
} catch (error) {
  console.error(`smoke: ${error.message}`);
  process.exitCode = 1;
  for (const pid of [...new Set([npm.pid, ...started, ...descendants(npm.pid)])]) kill(pid);
}

async function health(at) {
  const until = performance.now() + STARTS_WITHIN_MS;
  for (;;) {
    if (npm.exitCode !== null) throw new Error(`npm start ended with ${npm.exitCode}`);
    try {
      const response = await fetch(`http://127.0.0.1:${at}/health`, { signal: AbortSignal.timeout(2_000) });
      const body = await response.json();
      if (response.ok && body.status === 'ok') return body;
      throw new Error(`port ${at} responded ${response.status} ${JSON.stringify(body)}`);
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await delay(100);
  }
}

function descendants(root) {
  const table = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = table.map((line) => line.trim().split(/\s+/).map(Number));
  const found = [];
  for (let parents = [root]; parents.length > 0;) {
    parents = pairs.filter(([, parent]) => parents.includes(parent)).map(([pid]) => pid);
    found.push(...parents);
  }
  return found;
}

async function untilGone(pids) {
  const until = performance.now() + ENDS_WITHIN_MS;
  while (pids.some(alive)) {
    if (performance.now() > until) throw new Error(`still running: ${pids.filter(alive).join(', ')}`);
    await delay(50);
  }
}

/** A zombie has ended; in a container no init process may reap it. */
function alive(pid) {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .startsWith('Z');
  } catch {
    return false;
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // the process has ended since
  }
}

/** Below the ports of outgoing connections, which could take one while npm builds. */
async function twoFreePorts() {
  for (;;) {
    const first = randomInt(12_000, 32_000);
    if ((await isFree(first)) && (await isFree(first + 1))) return first;
  }
}

function isFree(candidate) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(candidate, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
