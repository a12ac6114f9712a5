import vm from 'node:vm';

import { TestEnvironment } from 'jest-environment-node';

/**
 * Gives each spec file a context with plain globals. In a context of Jest each use of a global name calls into its sandbox, so
 * tests that compute take up to 2.5 times the time. Node 20 before 20.18 has no such contexts, and uses those of Jest.
 */
export class PlainGlobals extends TestEnvironment {
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
}
