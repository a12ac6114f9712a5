import { monotonicMs } from '../monotonic.js';
import { processesOf, sendSignal, signalEach, type OneCommand } from '../processes.js';

/** While the wrapper lives, it sends TERM itself. The guard leaves it this much time. */
const TERM_LATE_MS = 250;
/** How often the guard looks for a command that was started, but not announced, when the wrapper ended. */
const LOOK_EVERY_MS = 50;

/**
 * The dead-man's switch. It ends the command at a deadline that only the wrapper can move, or when the wrapper is gone.
 * Deadlines are absolute times of the monotonic clock, so that a message that is read late does not prolong them.
 */
export class DeadMan {
  private target: OneCommand | undefined;
  private graceMs = 0;
  private termAt = Infinity;
  private killAt = Infinity;
  private termed = false;
  private isAbandoned = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly end: () => void) {}

  /** One line of the wrapper. */
  line(text: string): void {
    const [word, first, second, ...rest] = text.split(' ');
    if (word === 'starting') this.starting(Number(first), second === 'group', rest.join(' '));
    else if (word === 'watch' && this.target !== undefined) this.target = { ...this.target, pid: Number(first) };
    else if (word === 'until') [this.termAt, this.killAt] = [Number(first), Number(second)];
    else if (word === 'termed') this.termed = true;
    else if (word === 'done') return this.end();
    this.arm();
  }

  /** The wrapper is gone without `done`. */
  abandoned(): void {
    if (this.target === undefined) return this.end();
    const now = monotonicMs();
    this.isAbandoned = true;
    this.termAt = now;
    this.termed = false;
    this.killAt = Math.min(this.killAt, now + this.graceMs);
    this.arm(0);
  }

  /** A command is about to start; its number is not known yet. */
  private starting(graceMs: number, leadsGroup: boolean, mark: string): void {
    this.graceMs = graceMs;
    this.target = { pid: 0, leadsGroup, mark };
  }

  private arm(lateMs = TERM_LATE_MS): void {
    clearTimeout(this.timer);
    const dueAt = this.termed ? this.killAt : Math.min(this.termAt + lateMs, this.killAt);
    if (this.target === undefined || dueAt === Infinity) return;
    this.timer = setTimeout(() => this.due(dueAt, lateMs), Math.max(0, dueAt - monotonicMs()));
  }

  private due(dueAt: number, lateMs: number): void {
    const now = monotonicMs();
    if (now < dueAt) return this.arm(lateMs);
    if (now >= this.killAt) return this.kill();
    this.signal('SIGTERM');
    this.termed = true;
    this.arm();
    if (this.isAbandoned) this.lookForEnd();
  }

  /** Ends early when the command has ended, because its number may be used again. */
  private lookForEnd(): void {
    const { target } = this;
    if (target === undefined) return;
    // A command that is not announced yet may still be starting.
    if (target.pid !== 0 && processesOf(target).length === 0) return this.end();
    if (target.pid === 0) this.signal('SIGTERM');
    setTimeout(() => this.lookForEnd(), LOOK_EVERY_MS);
  }

  private kill(): void {
    this.signal('SIGKILL');
    const { target } = this;
    // A process that was just created is found by the next look.
    if (target === undefined || processesOf(unannounced(target)).length === 0) return this.end();
    this.timer = setTimeout(() => this.kill(), LOOK_EVERY_MS);
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.target === undefined) return;
    const target = unannounced(this.target);
    // At once, and before the search, which takes some milliseconds.
    if (target.leadsGroup) sendSignal(-target.pid, signal);
    else signalEach(processesOf(target), signal);
  }
}

/** Without its number, a command is found by its mark. */
const unannounced = (target: OneCommand): OneCommand => (target.pid === 0 ? { ...target, leadsGroup: false } : target);
