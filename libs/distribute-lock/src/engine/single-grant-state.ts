import type { KindServices } from './kind.js';
import { KeyState } from './key-state.js';
import type { Grant } from './lease/grant.js';

/** The state of a key for which a process has at most one grant, which one caller holds or all readers share. */
export abstract class SingleGrantState extends KeyState {
  grant: Grant | undefined = undefined;

  constructor(
    protected readonly services: KindServices,
    key: string,
  ) {
    super(key);
  }

  grants(): readonly Grant[] {
    return this.grant === undefined ? [] : [this.grant];
  }

  get hasGrant(): boolean {
    return this.grant !== undefined;
  }

  grantOf(ownerToken: string): Grant | undefined {
    return this.grant?.ownerToken === ownerToken ? this.grant : undefined;
  }

  drop(grant: Grant): void {
    if (this.grant === grant) this.grant = undefined;
  }
}
