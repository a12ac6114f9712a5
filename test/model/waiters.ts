/**
 * The backward search for waiters that can never be served: from the states in which a waiter is served, along the moves in
 * which nothing fails, back to the states in which it waits.
 */
import type { Rules } from './rules.js';
import type { StateTable } from './state-table.js';
import { HOLDING, TRYING, VOID, WIDTH } from './state.js';

/** The moves in which nothing fails, from each expanded state in turn. */
export class Edges {
  private starts = new Int32Array(1 << 16);
  private targets = new Int32Array(1 << 18);
  private sources = 0;
  count = 0;

  /** The next moves start from the next state. */
  begin(): void {
    if (this.sources + 1 >= this.starts.length) this.starts = larger(this.starts);
    this.starts[this.sources] = this.count;
    this.sources += 1;
    this.starts[this.sources] = this.count;
  }

  add(target: number): void {
    if (this.count === this.targets.length) this.targets = larger(this.targets);
    this.targets[this.count] = target;
    this.count += 1;
    this.starts[this.sources] = this.count;
  }

  /** The sources of the moves to each state: those of state i are between `starts[i]` and `starts[i + 1]`. */
  reversed(states: number): { readonly starts: Int32Array; readonly sources: Int32Array } {
    const starts = new Int32Array(states + 1);
    for (let i = 0; i < this.count; i += 1) starts[this.targets[i] + 1] += 1;
    for (let i = 0; i < states; i += 1) starts[i + 1] += starts[i];
    const next = starts.slice();
    const sources = new Int32Array(this.count);
    for (let source = 0; source < this.sources; source += 1) {
      for (let i = this.starts[source]; i < this.starts[source + 1]; i += 1) {
        sources[next[this.targets[i]]] = source;
        next[this.targets[i]] += 1;
      }
    }
    return { starts, sources };
  }
}

function larger(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(array.length * 2);
  copy.set(array);
  return copy;
}

/**
 * The first state with a waiter that no sequence of moves serves; undefined if there is none. A state that was not expanded
 * counts as one that serves all.
 */
export function starved({ names }: Rules, table: StateTable, edges: Edges, expanded: number): number | undefined {
  const slots = names.tokens.length;
  const bytes = table.all();
  const all = 2 ** slots - 1;
  /** For each state the bits of the tokens that wait, and of the tokens that are or can be served. */
  const waiting = new Uint16Array(table.count);
  const served = new Uint16Array(table.count);
  for (let index = 0; index < table.count; index += 1) {
    for (let slot = 0; slot < slots; slot += 1) {
      const phase = bytes[index * WIDTH + 4 + slot] & 7;
      if (phase === TRYING) waiting[index] |= 1 << slot;
      else if (phase === HOLDING || phase === VOID) served[index] |= 1 << slot;
    }
    if (index >= expanded) served[index] = all;
  }
  const { starts, sources } = edges.reversed(table.count);
  const changed: number[] = [];
  for (let index = 0; index < table.count; index += 1) if (served[index] !== 0) changed.push(index);
  while (changed.length > 0) {
    const index = changed.pop()!;
    for (let i = starts[index]; i < starts[index + 1]; i += 1) {
      const source = sources[i];
      const more = served[index] & waiting[source] & ~served[source];
      if (more === 0) continue;
      served[source] |= more;
      changed.push(source);
    }
  }
  for (let index = 0; index < expanded; index += 1) if ((waiting[index] & ~served[index]) !== 0) return index;
  return undefined;
}
