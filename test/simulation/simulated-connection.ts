import { ServerClock } from '../../libs/distribute-lock/src/store/redis/server-clock.js';
import { LockStoreError } from '../../libs/distribute-lock/src/store/lock-store.js';
import type { CancelTimer } from '../../libs/distribute-lock/src/runtime/clock.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { Happening } from './timeline.js';
import type { World } from './world.js';

/** As in the Redis store. */
const COMMAND_LIMIT_MS = 800;
/** The round trip of a clock query to the server. */
const CLOCK_TRIP_MS = 5;
/** Bytes of a broken connection may arrive this much later. */
const MOST_STRAY_MS = 5_000;

/** A rule threw an error. A planted change that breaks this rule proves nothing about the other ones. */
export const REJECTED = 'the server rejected a command';

const latest = (a: number, b: number): number => (a > b ? a : b);

/** The reply to an acquire that arrived after its deadline and had no effect, with the clock of the server. */
export class TooLate {
  constructor(readonly serverMs: number) {}
}

/** A command in flight. */
class Command {
  settled = false;
  /** On the clock of the server. Set with the first sending, because the same bytes are sent again. */
  deadlineMs: number | undefined;
  /** Its arrival at the server, until it has arrived. */
  arrival: Happening | undefined;
  cancelLimit: CancelTimer = () => undefined;

  constructor(
    readonly what: string,
    readonly apply: (deadlineMs: number) => unknown,
    readonly startedAt: number,
    private readonly resolve: (answer: unknown) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  settle(answer: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.cancelLimit();
    if (answer instanceof Error) this.reject(answer);
    else this.resolve(answer);
  }
}

/**
 * The connection of one process, as the client uses it: in order both ways while it is open. When it breaks, replies
 * are lost, and unanswered commands are sent again on the new one. Bytes of the old connection may arrive at any time.
 */
export class SimulatedConnection {
  /** Rises with every break. */
  epoch = 0;
  readonly serverClock = new ServerClock();
  private down = 0;
  private readonly unanswered = new Set<Command>();
  private waiting: Command[] = [];
  private lastArrival = 0;
  private lastAnswer = 0;

  constructor(
    private readonly world: World,
    private readonly process: SimulatedProcess,
  ) {}

  /** @param startedAt - when the first of several related commands was sent, because they share one time limit */
  ask<T>(what: string, apply: (deadlineMs: number) => T, startedAt = this.process.now()): Promise<T> {
    const limitMs = startedAt + COMMAND_LIMIT_MS - this.process.now();
    return new Promise<T>((resolve, reject) => {
      const command = new Command(what, apply, startedAt, resolve as (answer: unknown) => void, reject);
      command.cancelLimit = this.process.after(limitMs, () => {
        // Replies that have arrived before get a turn of the loop first.
        this.process.nextTurn(() => command.settle(new LockStoreError('no reply', true)));
      });
      if (this.down > 0) this.waiting.push(command);
      else this.send(command);
    });
  }

  /** An acquire, or an equivalent command. One that was refused as too late is sent again while its caller waits. */
  async askInTime<T>(
    what: string,
    apply: (deadlineMs: number) => T | TooLate,
    startedAt = this.process.now(),
  ): Promise<T> {
    for (;;) {
      const answer = await this.ask(what, apply, startedAt);
      if (!(answer instanceof TooLate)) return answer;
      this.serverClock.correct(answer.serverMs, startedAt);
      this.readClock();
    }
  }

  /** Delays all bytes, and loses none. */
  mute(ms: number): void {
    const { now } = this.world.timeline;
    this.lastArrival = latest(this.lastArrival, now + ms);
    this.lastAnswer = latest(this.lastAnswer, now + ms);
  }

  breakFor(ms: number): void {
    const { timeline } = this.world;
    this.epoch += 1;
    this.serverClock.forget();
    this.down += 1;
    for (const command of this.unanswered) this.stray(command);
    this.lastArrival = this.lastAnswer = 0;
    timeline.add(timeline.now + ms, this.process, () => this.restore());
  }

  private restore(): void {
    this.down -= 1;
    if (this.down > 0) return;
    this.readClock();
    for (const command of this.unanswered) this.send(command);
    const { waiting } = this;
    this.waiting = [];
    // A command whose time is up was never passed to the client.
    for (const command of waiting) if (!command.settled) this.send(command);
  }

  private send(command: Command): void {
    const { epoch, serverClock } = this;
    if (serverClock.refreshes(this.process.now())) this.readClock();
    command.deadlineMs ??= serverClock.deadline(command.startedAt, COMMAND_LIMIT_MS);
    this.unanswered.add(command);
    this.lastArrival = latest(this.lastArrival, this.world.timeline.now + this.world.transferMs());
    const arrival = this.world.timeline.add(this.lastArrival, undefined, () => {
      if (command.arrival === arrival) command.arrival = undefined;
      this.arrive(command, epoch, arrival);
    });
    command.arrival = arrival;
  }

  private arrive(command: Command, epoch: number, arrival: Happening): void {
    const { timeline, server, random, plan } = this.world;
    if (server.awayUntil > timeline.now) return timeline.again(arrival, server.awayUntil);
    const answer = random.chance(plan.refusalShare) ? this.refusal() : this.execute(command);
    this.world.note(command.what, this.process, answer);
    if (epoch !== this.epoch) return this.world.trouble();
    this.lastAnswer = latest(this.lastAnswer, timeline.now + this.world.transferMs());
    timeline.add(this.lastAnswer, this.process, () => {
      if (epoch !== this.epoch) return;
      this.unanswered.delete(command);
      command.settle(answer);
    });
  }

  /** No command of a simulated process may be rejected. */
  private execute(command: Command): unknown {
    try {
      return command.apply(command.deadlineMs!);
    } catch (error) {
      const { message } = error as Error;
      this.world.fail(REJECTED, `${command.what}: ${message}`);
      return new LockStoreError(message, false);
    }
  }

  /** The connection broke before the command arrived: the command is lost, or arrives late. */
  private stray(command: Command): void {
    const { timeline, random } = this.world;
    const { arrival } = command;
    if (arrival === undefined) return;
    command.arrival = undefined;
    arrival.cancelled = true;
    if (random.chance(0.5)) return;
    const late = random.between(0, random.pick([10, MOST_STRAY_MS]));
    const old = this.epoch - 1;
    const again = timeline.add(timeline.now + late, undefined, () => this.arrive(command, old, again));
  }

  private readClock(): void {
    this.serverClock.observe(this.world.server.wallClock(), this.process.now() - CLOCK_TRIP_MS);
  }

  private refusal(): Error {
    this.world.trouble();
    return new LockStoreError('the server is loading', true);
  }
}
