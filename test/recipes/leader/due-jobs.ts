/** A table of jobs that records who looked into it. */
export class DueJobs {
  readonly looks: number[] = [];

  async enqueueDue(fencingToken: number): Promise<void> {
    this.looks.push(fencingToken);
  }
}
