import vm from 'node:vm';

import { TestEnvironment } from 'jest-environment-node';

/**
 * Gives each spec file a context with plain globals. In a context of Jest each use of a global name calls into its sandbox, so
 * tests that compute take up to 2.5 times the time. Node 20 before 20.18 has no such contexts, and uses those of Jest.
 *
 * It also ends the resources of a spec file (see cleanup.ts) after all of its hooks. An `afterAll` would not work: hooks run in
 * the order of their definition, so the servers would stop before the hooks of the spec close their applications.
 */
export default class extends TestEnvironment {
  constructor(...args) {
    const { createContext } = vm;
    // The constructor of Jest has no option for the context that it creates.
    vm.createContext = (sandbox, ...options) => createContext(vm.constants?.DONT_CONTEXTIFY ?? sandbox, ...options);
    try {
      super(...args);
    } finally {
      vm.createContext = createContext;
    }
  }

  async handleTestEvent(event) {
    if (event.name === 'run_finish') await this.global[Symbol.for('test-support.cleanup')]?.();
  }
}
