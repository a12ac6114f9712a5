/** The breadth-first search: all states that a configuration can reach, up to a number of states. */
import { brokenInState } from './invariants.js';
import { Broken, movesFrom } from './moves.js';
import type { Rules } from './rules.js';
import { StateTable } from './state-table.js';
import { WIDTH } from './state.js';
import { Edges, starved } from './waiters.js';

/** The invariant that the backward search checks. */
export const STARVED = 'every waiter can still be served';

export interface Violation {
  readonly invariant: string;
  /** The moves from the first state. */
  readonly schedule: readonly string[];
}

export interface Found {
  readonly states: number;
  /** States whose moves were all followed. */
  readonly expanded: number;
  /** Length of the longest schedule: every state within one move less is expanded. */
  readonly depth: number;
  /** Whether no state was left out. */
  readonly isComplete: boolean;
  readonly seconds: number;
  readonly violation?: Violation;
}

export interface Limits {
  /** The search stops when it has found this many states. */
  readonly states: number;
  /**
   * Whether the search for waiters that are never served follows. From the last states only moves in which nothing fails
   * are followed then, up to `closure` states in all.
   */
  readonly waiters?: { readonly closure: number };
  /** Reports the progress. */
  readonly onDepth?: (depth: number, states: number) => void;
}

export function search(rules: Rules, limits: Limits): Found {
  const run = new Search(rules, limits);
  return run.run();
}

class Search {
  private readonly table = new StateTable();
  private readonly edges = new Edges();
  private depth = 0;
  private expanded = 0;
  private complete = true;

  constructor(
    private readonly rules: Rules,
    private readonly limits: Limits,
  ) {}

  run(): Found {
    const begin = performance.now();
    let violation = this.visit();
    if (violation === undefined && this.limits.waiters !== undefined) {
      const index = starved(this.rules, this.table, this.edges, this.expanded);
      if (index !== undefined) {
        violation = {
          invariant: STARVED,
          schedule: [...this.scheduleTo(index), ...this.rest(index)],
        };
      }
    }
    return {
      states: this.table.count,
      expanded: this.expanded,
      depth: this.depth,
      isComplete: this.complete && violation === undefined,
      seconds: (performance.now() - begin) / 1000,
      violation,
    };
  }

  private visit(): Violation | undefined {
    const { rules, table, limits } = this;
    const { names } = rules;
    names.encode(names.first(), table.bytes);
    table.add(-1);
    let levelEnd = 1;
    let broken: string | undefined;
    for (let index = 0; index < table.count; index += 1) {
      if (index === levelEnd) {
        levelEnd = table.count;
        this.depth += 1;
        limits.onDepth?.(this.depth, table.count);
      }
      const onlyGood = table.count >= limits.states;
      if (onlyGood) {
        this.complete = false;
        if (limits.waiters === undefined || table.count >= limits.waiters.closure) break;
      }
      const state = names.decode(table.all(), index * WIDTH);
      this.edges.begin();
      try {
        movesFrom(rules, state, onlyGood, (next, label, isGood) => {
          const known = table.count;
          table.bytes.fill(0);
          names.encode(next, table.bytes);
          const found = table.add(index);
          if (isGood) this.edges.add(found);
          if (found < known) return;
          broken = brokenInState(rules, next);
          if (broken !== undefined) throw new Broken(broken, label());
        });
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        return { invariant: error.invariant, schedule: [...this.scheduleTo(index), error.label] };
      }
      this.expanded += 1;
    }
    return undefined;
  }

  /** The labels of the moves from the first state to a state. */
  private scheduleTo(index: number): string[] {
    const path: number[] = [];
    for (let at = index; at >= 0; at = this.table.parents[at]) path.push(at);
    path.reverse();
    return path.slice(1).map((to, i) => this.labelOf(path[i], to));
  }

  private labelOf(from: number, to: number): string {
    const { names } = this.rules;
    const all = this.table.all();
    const wanted = Buffer.from(all.slice(to * WIDTH, (to + 1) * WIDTH));
    const bytes = new Uint8Array(WIDTH);
    let text = '?';
    movesFrom(this.rules, names.decode(all, from * WIDTH), false, (next, label) => {
      if (text !== '?') return;
      bytes.fill(0);
      names.encode(next, bytes);
      if (wanted.equals(bytes)) text = label();
    });
    return text;
  }

  /** What the state of a starved waiter is. */
  private rest(index: number): string[] {
    const { names } = this.rules;
    const { entries, now } = names.decode(this.table.all(), index * WIDTH);
    const keys = entries.flatMap((entry, i) => {
      if (entry === undefined || i === 0) return [];
      return [`${names.keys[i]} = ${entry.value ?? entry.members.join(', ')} for ${entry.endsAt - now} ms`];
    });
    return [`from now on no move serves the waiter; the server has: ${keys.join('; ') || 'nothing'}`];
  }
}
