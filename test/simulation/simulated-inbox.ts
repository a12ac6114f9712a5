import {
  LockStoreError,
  type LockMessage,
  type LockStoreListener,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

/** A server counts a subscriber until it notices the broken connection. */
const MOST_NOTICE_MS = 300;

/** The subscription of one process. */
export class SimulatedInbox {
  private listener: LockStoreListener | undefined;
  /** Rises with every break of the connection, because messages in flight are lost then. */
  private epoch = 0;
  private broken = 0;
  private lastArrival = 0;

  constructor(
    private readonly world: World,
    private readonly process: SimulatedProcess,
  ) {}

  open(listener: LockStoreListener): Promise<boolean> {
    if (this.process.plan.deaf) return Promise.resolve(false);
    const { timeline, random, plan } = this.world;
    return new Promise((resolve, reject) => {
      timeline.add(timeline.now + this.world.transferMs(), undefined, () => {
        if (random.chance(plan.refusalShare)) {
          this.world.trouble();
          timeline.add(timeline.now, this.process, () => reject(new LockStoreError('the server is loading', true)));
          return;
        }
        this.listener = listener;
        if (this.broken === 0) this.world.server.inboxes.set(this.process.id, this);
        timeline.add(timeline.now + this.world.transferMs(), this.process, () => resolve(true));
      });
    });
  }

  /** @returns the number of receivers that the server counts */
  deliver(message: LockMessage): number {
    const { timeline, random, plan } = this.world;
    const { epoch, listener } = this;
    if (this.broken > 0 || random.chance(plan.lossShare)) {
      this.world.note('message lost', this.process, message);
      this.world.trouble();
      return 1;
    }
    this.lastArrival = Math.max(this.lastArrival, timeline.now + this.world.transferMs());
    timeline.add(this.lastArrival, this.process, () => {
      if (epoch !== this.epoch) return this.world.trouble();
      this.world.note('message', this.process, message);
      if (message.type === 'contended') this.world.ledger.turns.contended(message.ownerToken);
      listener?.message(message);
    });
    return 1;
  }

  /** Stops delivery. Afterwards the listener is notified that messages may be missing. */
  breakFor(ms: number): void {
    const { timeline, random } = this.world;
    this.epoch += 1;
    this.broken += 1;
    const back = timeline.now + ms;
    timeline.add(timeline.now + random.between(0, Math.min(ms, MOST_NOTICE_MS)), undefined, () => {
      if (this.broken > 0) this.close();
    });
    timeline.add(back, this.process, () => {
      this.broken -= 1;
      if (this.broken > 0 || this.listener === undefined) return;
      this.world.server.inboxes.set(this.process.id, this);
      this.world.trouble();
      timeline.add(timeline.now + this.world.transferMs(), this.process, () => {
        this.world.trouble();
        this.listener?.resubscribed();
      });
    });
  }

  close(): void {
    this.world.server.inboxes.delete(this.process.id);
  }
}
