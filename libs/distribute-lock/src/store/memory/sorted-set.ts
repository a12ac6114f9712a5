export interface Scored {
  readonly member: string;
  readonly score: number;
}

/** Members in the order of their scores, as Redis keeps them; equal scores are ordered by the text of the member. */
export class SortedSet {
  private readonly byMember = new Map<string, Scored>();
  private readonly inOrder: Scored[] = [];

  get size(): number {
    return this.inOrder.length;
  }

  score(member: string): number | undefined {
    return this.byMember.get(member)?.score;
  }

  /** Adds the member, or moves it to the place of its new score. */
  set(member: string, score: number): void {
    if (this.score(member) === score) return;
    this.remove(member);
    const added = { member, score };
    this.byMember.set(member, added);
    const last = this.inOrder.at(-1);
    // Most waiters queue up at the end, and need no search.
    if (last === undefined || isBefore(last, added)) this.inOrder.push(added);
    else this.inOrder.splice(this.placeOf(added), 0, added);
  }

  /** Returns whether the set contained the member. */
  remove(member: string): boolean {
    const removed = this.byMember.get(member);
    if (removed === undefined) return false;
    const place = this.inOrder[0] === removed ? 0 : this.placeOf(removed);
    this.removeBetween(place, place + 1);
    return true;
  }

  /** Removes the members from place `from` up to, and without, place `to`, and returns them. */
  removeBetween(from: number, to: number): Scored[] {
    const removed = this.inOrder.slice(from, to);
    for (const { member } of removed) this.byMember.delete(member);
    // Unlike `splice`, `shift` does not move the other elements.
    if (from === 0 && removed.length === 1) this.inOrder.shift();
    else this.inOrder.splice(from, removed.length);
    return removed;
  }

  /** The members from place `from` up to, and without, place `to`. */
  slice(from: number, to: number): Scored[] {
    return this.inOrder.slice(from, to);
  }

  /** Number of members with a score below the limit, or `orEqual` to it. */
  countBelow(limit: number, orEqual: boolean): number {
    return this.countWhile(({ score }) => score < limit || (orEqual && score === limit));
  }

  clone(): SortedSet {
    const copy = new SortedSet();
    for (const { member, score } of this.inOrder) copy.set(member, score);
    return copy;
  }

  private placeOf(entry: Scored): number {
    return this.countWhile((each) => isBefore(each, entry));
  }

  /** Length of the head of the set for whose entries the condition is true. Binary search. */
  private countWhile(condition: (entry: Scored) => boolean): number {
    let low = 0;
    let high = this.inOrder.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (condition(this.inOrder[middle])) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const isBefore = (a: Scored, b: Scored): boolean => a.score < b.score || (a.score === b.score && a.member < b.member);
