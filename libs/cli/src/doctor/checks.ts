import type { Check } from './check.js';
import * as clock from './clock-checks.js';
import * as lock from './lock-checks.js';
import { rights } from './rights.js';
import * as servers from './server-checks.js';
import * as topology from './topology-checks.js';

/**
 * The table of all checks, in their order. Each start of the library runs `layout` and `eviction`, too; see
 * `CHECKS_AT_START`. The reference page is written from this table.
 */
export const CHECKS: Readonly<Record<string, Check>> = {
  server: servers.server,
  role: servers.role,
  topology: topology.topology,
  layout: topology.atStart('layout', {
    about: 'Whether one script call may have keys of several slots (at each start, too).',
    faults: 'Warns when the server refuses it, and about a prefix with a `{tag}`.',
    fine: 'The layout fits the server.',
  }),
  eviction: topology.atStart('eviction', {
    about: 'Whether a full server evicts locks (at each start, too).',
    faults: 'Fails when `maxmemory` is set and the policy may delete locks.',
    fine: 'The server does not evict locks.',
  }),
  memory: servers.memory,
  persistence: servers.persistence,
  connections: servers.connections,
  replicas: servers.replicas,
  wait: servers.wait,
  rights,
  scripts: lock.scripts,
  'exclusive lock': lock.kind('an exclusive lock', { kind: 'exclusive' }),
  'write lock': lock.kind('a write lock', { kind: 'write' }),
  'read lock': lock.kind('a read lock', { kind: 'read' }),
  semaphore: lock.kind('a permit of a semaphore', { kind: 'semaphore', permits: 2 }),
  messages: lock.messages,
  'hand-over': lock.handOver,
  patterns: servers.patterns,
  latency: lock.latency,
  coverage: topology.coverage,
  'sharded channels': topology.sharded,
  'Sentinel quorum': topology.sentinels,
  'clock offset': clock.offset,
  'clock steps': clock.steps,
};
