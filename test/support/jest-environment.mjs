import { TestEnvironment } from 'jest-environment-node';

/**
 * Ends what a spec file started (see cleanup.ts). Here and not in an `afterAll`: hooks run in the order in which they are defined,
 * so a hook of the support would stop the servers before the specs' own hooks have closed their applications.
 */
export default class extends TestEnvironment {
  async handleTestEvent(event) {
    if (event.name === 'run_finish') await this.global[Symbol.for('test-support.cleanup')]?.();
  }
}
