import { setTimeout as delay } from 'node:timers/promises';

import { PlainGlobals } from './plain-globals.mjs';

/** A client of ioredis has a timer of 2 s after `disconnect()`, if its server has ended before. */
const TIMERS_END_WITHIN_MS = 3_000;

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

/**
 * Ends the resources of a spec file (see cleanup.ts) after all of its hooks. An `afterAll` would not work: hooks run in
 * the order of their definition, so the servers would stop before the hooks of the spec close their applications.
 */
export default class extends PlainGlobals {
  #before = timers();

  async handleTestEvent(event) {
    if (event.name === 'run_finish') await this.global[Symbol.for('test-support.cleanup')]?.();
  }

  /** Waits for timers that end by themselves: Jest ends a worker by force when it has one half a second after its last file. */
  async teardown() {
    const until = performance.now() + TIMERS_END_WITHIN_MS;
    while (timers() > this.#before && performance.now() < until) await delay(20);
    await super.teardown();
  }
}
