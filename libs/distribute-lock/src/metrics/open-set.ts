/** Waits or holds in progress, by the labels name and kind. */
export class OpenSet {
  /** In order of their start, so the first of a group is the oldest. */
  private readonly groups = new Map<string, Map<object, number>>();

  /** Creates the group of a name, so that it is reported as empty. */
  known(name: string): Map<object, number> {
    let group = this.groups.get(name);
    if (group === undefined) this.groups.set(name, (group = new Map<object, number>()));
    return group;
  }

  start(name: string, message: object): void {
    this.known(name).set(message, performance.now());
  }

  /** @returns whether its start was seen */
  end(name: string, message: object): boolean {
    return this.groups.get(name)?.delete(message) === true;
  }

  /** For how many seconds the oldest of each name lasts; 0 if there is none. */
  *oldest(): Generator<readonly [name: string, seconds: number]> {
    const now = performance.now();
    for (const [name, group] of this.groups) {
      const [since = now] = group.values();
      yield [name, (now - since) / 1_000];
    }
  }
}
