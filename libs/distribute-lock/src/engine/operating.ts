import type { Lease } from './lease/lease.js';
import type { LockCall } from './lease/lock-call.js';
import { processOf } from '../runtime/owner-token.js';
import type { LockInquiry, LockState, LockStore } from '../store/lock-store.js';
import { describeHolders, inspection } from './inspecting.js';
import type { LockInspection } from './lock-inspection.js';
import { notAnswered, notInspected, sharedByReaders } from './refusals.js';

/** What an operator does with a lock, whichever process holds it. */
export class Operating {
  constructor(
    private readonly store: LockStore,
    private readonly processId: string,
    /** What this process says about its own hold. */
    private readonly describe: (inquiry: LockInquiry) => string | undefined,
  ) {}

  /** A snapshot of the lock. */
  async inspect(key: string): Promise<LockInspection> {
    const state = await this.read('inspect()', key);
    return inspection(key, state, this.processId, (ownerToken) => this.ask({ key, ownerToken }));
  }

  private async ask(inquiry: LockInquiry): Promise<string | undefined> {
    const isOwn = processOf(inquiry.ownerToken) === this.processId;
    return isOwn ? this.describe(inquiry) : this.store.askProcess?.(inquiry);
  }

  /** Takes the lock from its holders, or from the one with this fencing token; resolves with whether it was held. */
  async forceRelease(key: string, fencingToken?: number): Promise<boolean> {
    const { store } = this;
    if (store.force === undefined) throw notInspected('taken away');
    const method = 'forceRelease()';
    let only: string | undefined;
    if (fencingToken !== undefined) {
      const state = await this.read(method, key);
      if (state.kind === 'read') throw sharedByReaders(key);
      const holders = await describeHolders(state, (ownerToken) => this.ask({ key, ownerToken, last: true }));
      only = holders.find(({ holds }) => holds?.some((hold) => hold.fencingToken === fencingToken))?.ownerToken;
      if (only === undefined && holders.some(({ holds }) => holds === undefined))
        throw notAnswered(method, key, new Error('a process that holds the lock did not answer.'));
      if (only === undefined) return false;
    }
    return store.force(key, only).catch((error: Error) => Promise.reject(notAnswered(method, key, error)));
  }

  /** Takes the lock from its holders in one step, and notifies them. */
  async steal(call: LockCall, acquire: (call: LockCall) => Promise<Lease>): Promise<Lease> {
    const { store } = this;
    if (store.revoked === undefined) throw notInspected('taken over');
    const { kind, holders } = await this.read('steal()', call.key);
    const lease = await acquire({ ...call, steal: true });
    if (kind !== 'foreign') for (const ownerToken of holders) void store.revoked(call.key, ownerToken);
    return lease;
  }

  /** The state of the lock in the store. */
  private async read(method: string, key: string): Promise<LockState> {
    const { store } = this;
    if (store.inspect === undefined) throw notInspected('inspected');
    return store.inspect(key).catch((error: Error) => Promise.reject(notAnswered(method, key, error)));
  }
}
