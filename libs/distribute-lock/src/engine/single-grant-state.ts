import type { KindServices } from './kind.js';
import { KeyState, type Waiter, type WaitList } from './key-state.js';
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

  /** Abandons the attempt if it has no caller left. */
  callersLeft(list: WaitList): void {
    if (list.first === undefined && list.attempt !== undefined) {
      this.services.acquiring.attempts.abandon(list.attempt);
    }
  }

  contendedBy(grant: Grant): void {
    grant.contended = true;
  }

  grantEnded(): void {
    this.requestPlace();
  }

  /** Requests a place in the store for the callers that wait, if they have none. */
  protected requestPlace(): void {
    if (this.next !== undefined) this.services.acquiring.attempts.sendFor(this.list);
  }

  /** A non-waiting caller shares the outcome of the attempt, which is sent at once. */
  protected hurryFor(waiter: Waiter, { attempt }: WaitList): void {
    if (waiter.waits || attempt === undefined) return;
    this.services.acquiring.wakeUps.wake({ reason: 'not delayed', attempt });
  }
}
