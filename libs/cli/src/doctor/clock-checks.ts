import type { Check } from './check.js';
import { onEachServer } from './check.js';
import { failed, ok, warning } from './finding.js';

const WARN_OFFSET_MS = 1_000;
const FAIL_OFFSET_MS = 10_000;
/** Clocks that run at different speeds, and a time service that corrects one of them, stay below it. */
const LEAST_STEP_MS = 100;

const FIX = 'Synchronise the clocks of both hosts, for example by chrony or systemd-timesyncd.';

export const offset: Check = {
  about: 'The clock of each server, compared with the clock of this host.',
  faults: 'Warns from 1 s on. Fails from 10 s on: fencing tokens come from the clock of the server.',
  run: ({ target, clocks }) =>
    onEachServer(target, async (server) => {
      const { offsetMs, exactToMs } = clocks.offset(server);
      const offBy = Math.max(0, Math.abs(offsetMs) - exactToMs);
      const text = `The clock of the server is ${shown(Math.abs(offsetMs))} ${offsetMs < 0 ? 'behind' : 'ahead of'} this host (exact to ${shown(exactToMs)}).`;
      if (offBy < WARN_OFFSET_MS) return ok(text);
      return offBy < FAIL_OFFSET_MS
        ? warning(text, FIX)
        : failed(`${text} After a failover between such clocks, fencing tokens can fall.`, FIX);
    }),
};

export const steps: Check = {
  about: 'Whether the clock of a server was set while the checks ran.',
  faults: 'Fails when it moved by more than 100 ms: a step forward ends leases early.',
  run: ({ target, clocks }) =>
    onEachServer(target, async (server) => {
      const { stepMs, exactToMs } = await clocks.step(server);
      if (Math.abs(stepMs) <= LEAST_STEP_MS + exactToMs) return ok(`No step within ${shown(clocks.watchedMs)}.`);
      return failed(
        `The clock of the server moved by ${shown(stepMs)} within ${shown(clocks.watchedMs)}. A step forward ends leases early.`,
        'Let the time service slew the clock instead of setting it, and look for two services that set it.',
      );
    }),
};

const shown = (ms: number): string =>
  Math.abs(ms) < 1_000 ? `${ms.toFixed(ms < 10 && ms > -10 ? 1 : 0)} ms` : `${(ms / 1_000).toFixed(1)} s`;
