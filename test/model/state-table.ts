/** All states that were found, each once, with the state that it was found from. */
import { WIDTH } from './state.js';

const WORDS = WIDTH / 4;

export class StateTable {
  count = 0;
  /** For each state the index of the state that it was found from. */
  parents: Int32Array;
  private words: Uint32Array;
  private places: Int32Array;
  private readonly key = new Uint32Array(WORDS);
  /** The state to look up. */
  readonly bytes = new Uint8Array(this.key.buffer);

  constructor(capacity = 1 << 16) {
    this.parents = new Int32Array(capacity);
    this.words = new Uint32Array(capacity * WORDS);
    this.places = new Int32Array(capacity * 2);
  }

  /** Adds the state in `bytes`; returns its index. It is new if the index equals the earlier `count`. */
  add(parent: number): number {
    if (this.count === this.parents.length) this.grow();
    const mask = this.places.length - 1;
    let place = hashOf(this.key, 0) & mask;
    for (; this.places[place] !== 0; place = (place + 1) & mask) {
      if (this.isAt(this.places[place] - 1)) return this.places[place] - 1;
    }
    this.places[place] = this.count + 1;
    this.words.set(this.key, this.count * WORDS);
    this.parents[this.count] = parent;
    this.count += 1;
    return this.count - 1;
  }

  /** The bytes of all states. */
  all(): Uint8Array {
    return new Uint8Array(this.words.buffer);
  }

  private isAt(index: number): boolean {
    const from = index * WORDS;
    for (let i = 0; i < WORDS; i += 1) if (this.words[from + i] !== this.key[i]) return false;
    return true;
  }

  private grow(): void {
    const capacity = this.count * 2;
    const [parents, words] = [this.parents, this.words];
    this.parents = new Int32Array(capacity);
    this.parents.set(parents);
    this.words = new Uint32Array(capacity * WORDS);
    this.words.set(words);
    this.places = new Int32Array(capacity * 2);
    const mask = this.places.length - 1;
    for (let index = 0; index < this.count; index += 1) {
      let place = hashOf(this.words, index * WORDS) & mask;
      while (this.places[place] !== 0) place = (place + 1) & mask;
      this.places[place] = index + 1;
    }
  }
}

function hashOf(words: Uint32Array, from: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < WORDS; i += 1) {
    hash = Math.imul(hash ^ words[from + i], 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}
