import type { LockMessage, LockStore } from '../store/lock-store.js';
import { newProcessId } from '../runtime/owner-token.js';
import { exclusiveRules } from './rules/exclusive-rules.js';
import { kindRules } from './rules/kind-rules.js';
import { leaseRules } from './rules/lease-rules.js';
import { operationRules } from './rules/operation-rules.js';
import { ticketRules } from './rules/ticket-rules.js';
import { waitingRules } from './rules/waiting-rules.js';
import { hasFeature, type RuleText, type StoreRule } from './store-rule.js';
import { type StoreProcess, Trial } from './trial.js';

const RULES: readonly RuleText[] = [
  ...exclusiveRules,
  ...leaseRules,
  ...waitingRules,
  ...kindRules,
  ...operationRules,
  ...ticketRules,
];

/** How a {@link StoreContract} opens stores. @public */
export interface StoreContractOptions {
  /**
   * Opens a store as another process does: all stores share their locks, and each has its own connection. The contract
   * connects it, subscribes, and closes it.
   */
  readonly open: () => LockStore | Promise<LockStore>;
  /**
   * Duration of a short lease in milliseconds. Raise it if the database rounds times.
   * @defaultValue 100
   */
  readonly shortMs?: number;
  /**
   * The longest time in milliseconds that a rule waits for an effect.
   * @defaultValue 30000
   */
  readonly limitMs?: number;
}

/** The rules that a store followed, broke, or lacks the feature for. @public */
export interface StoreReport {
  readonly followed: readonly string[];
  readonly broken: readonly { readonly rule: string; readonly error: Error }[];
  readonly lacking: readonly string[];
}

interface Opened {
  readonly processes: readonly [StoreProcess, StoreProcess, StoreProcess];
  readonly sendsMessages: boolean;
}

/**
 * The contract between the lock engine and a {@link LockStore}, as rules for any test runner. The rules use only the
 * members of `LockStore`, keys with a random prefix, and three stores.
 *
 * @example
 * ```ts
 * const contract = new StoreContract({ open: () => new MyLockStore(url) });
 * afterAll(() => contract.close());
 * for (const { name, run } of contract.rules) it(name, async () => void (await run()));
 * ```
 * @public
 */
export class StoreContract {
  /** All rules. Each can run alone; they run one after the other. */
  readonly rules: readonly StoreRule[];
  private readonly prefix = `contract-${newProcessId().slice(0, 8)}-`;
  private opened: Promise<Opened> | undefined;

  constructor(private readonly options: StoreContractOptions) {
    this.rules = RULES.map(({ name, feature, test }) => ({
      name,
      feature,
      run: () => this.run({ name, feature, test }),
    }));
  }

  /** Runs all rules, and closes the stores. Never rejects because of a broken rule. */
  async check(): Promise<StoreReport> {
    const report = {
      followed: [] as string[],
      broken: [] as { rule: string; error: Error }[],
      lacking: [] as string[],
    };
    for (const { name, run } of this.rules) {
      try {
        report[(await run()) ? 'followed' : 'lacking'].push(name);
      } catch (error) {
        report.broken.push({ rule: name, error: error as Error });
      }
    }
    await this.close();
    return report;
  }

  /** Closes the stores that the contract opened. */
  async close(): Promise<void> {
    const opened = await this.opened?.catch(() => undefined);
    this.opened = undefined;
    await Promise.all(opened?.processes.map(({ store }) => store.close()) ?? []);
  }

  private async run({ feature, test }: RuleText): Promise<boolean> {
    const { processes, sendsMessages } = await (this.opened ??= this.openAll());
    if (!hasFeature(feature, processes[0].store, sendsMessages)) return false;
    const { limitMs = 30_000, shortMs = 100 } = this.options;
    const open = async () => (await this.openProcess())[0];
    const trial = new Trial(processes, this.prefix, limitMs, shortMs, open, sendsMessages);
    try {
      await test(trial);
    } finally {
      await trial.end();
    }
    return true;
  }

  private async openAll(): Promise<Opened> {
    const [first, second, third] = [await this.openProcess(), await this.openProcess(), await this.openProcess()];
    return { processes: [first[0], second[0], third[0]], sendsMessages: first[1] };
  }

  private async openProcess(): Promise<readonly [StoreProcess, boolean]> {
    const store = await this.options.open();
    const messages: LockMessage[] = [];
    const id = newProcessId();
    await store.connect();
    const sends = await store.subscribe(id, {
      message: (message) => void messages.push(message),
      resubscribed: () => undefined,
    });
    return [{ id, store, messages }, sends];
  }
}
