import type { Clock } from '../../runtime/clock.js';
import { Timed, type TimerLanes } from '../../runtime/timer-lanes.js';
import { COMMAND_LIMIT_MS } from '../redis/link.js';
import type { QuorumNode } from './quorum-node.js';

/** Between tries while the node does not answer. */
const RETRY_MS = 250;
/** How much longer than its ttl a token is pursued: an acquire may be applied when the network is back. */
export const GRACE_MS = 10_000;
/** An acquire that was under way when a connection broke may arrive after its undo; it is undone once more. */
const SECOND_UNDO_MS = 1_000;

class Leftover extends Timed {
  constructor(
    readonly key: string,
    readonly token: string,
    /** Made anew each time: meanwhile its owner may have left. */
    readonly words: () => readonly string[],
    readonly until: number,
    public twice: boolean,
    private readonly undo: (leftover: Leftover) => void,
  ) {
    super();
  }

  due(): void {
    this.undo(this);
  }
}

/** Takes votes back from one node until it has confirmed that: a minority that answers late must not stay taken. */
export class Leftovers {
  private readonly tokens = new Map<string, Leftover>();

  constructor(
    private readonly node: QuorumNode,
    private readonly clock: Clock,
    private readonly lanes: TimerLanes,
  ) {}

  /** @param twice - an acquire of the token was not answered, so it may be applied after its undo */
  undo(key: string, token: string, words: () => readonly string[], ttlMs: number, twice: boolean): void {
    const known = this.tokens.get(token);
    if (known !== undefined) this.lanes.remove(known);
    const until = this.clock.now() + ttlMs + GRACE_MS;
    const again = twice || known?.twice === true;
    const leftover = new Leftover(key, token, words, until, again, (due) => this.ask(due));
    this.tokens.set(token, leftover);
    this.ask(leftover);
  }

  private ask(leftover: Leftover): void {
    const { key, token, words } = leftover;
    this.node.ask(key, words(), COMMAND_LIMIT_MS, ({ reply, late }) => {
      if (late || this.tokens.get(token) !== leftover) return;
      if (reply instanceof Error) this.failed(leftover);
      else if (leftover.twice) this.again(leftover, SECOND_UNDO_MS, false);
      else this.tokens.delete(token);
    });
  }

  private failed(leftover: Leftover): void {
    if (this.clock.now() >= leftover.until) this.tokens.delete(leftover.token);
    else this.again(leftover, RETRY_MS, true);
  }

  private again(leftover: Leftover, delayMs: number, twice: boolean): void {
    leftover.twice = twice;
    this.lanes.add(leftover, delayMs);
  }
}
