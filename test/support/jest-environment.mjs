import { PlainGlobals } from './plain-globals.mjs';

/**
 * Ends the resources of a spec file (see cleanup.ts) after all of its hooks. An `afterAll` would not work: hooks run in
 * the order of their definition, so the servers would stop before the hooks of the spec close their applications.
 */
export default class extends PlainGlobals {
  async handleTestEvent(event) {
    if (event.name === 'run_finish') await this.global[Symbol.for('test-support.cleanup')]?.();
  }
}
