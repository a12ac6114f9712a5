import type { Answer, AnswerListener } from '../lock-store.js';
import type { ReplyWord } from '../protocol/reply.js';

/** Number of words of a reply to one command. */
export const REPLY_WORDS = 3;

/** One command of a script and the receiver of its reply. */
export abstract class Command {
  constructor(
    readonly lockKey: string,
    readonly queueKey: string,
    /** Number of fencing tokens that the command requests; 0 for none. */
    readonly block = 0,
  ) {}

  /** Number of locks of the command. */
  get locks(): number {
    return 1;
  }

  /**
   * The argument of the script.
   * @param deadlineMs - on the server's clock; a later execution grants nothing to this process
   */
  abstract textUntil(deadlineMs: number): string;

  /** Adds the keys that the script needs for this command. */
  addKeys(keys: string[]): void {
    keys.push(this.lockKey, this.queueKey);
  }

  /** Handles a reply. Returns false, without an effect, if that is not a valid reply to this command. */
  abstract answered(code: number, x: ReplyWord, y: ReplyWord): boolean;
  abstract failed(error: Error): void;
  /** Called when a reply arrives after a timeout: the command may have taken effect after its undo. */
  abstract late(): void;
}

/** A command and its future answer. */
export abstract class AnsweredCommand<T> extends Command implements Answer<T> {
  private listener: AnswerListener<T> | undefined = undefined;
  private promise: Promise<T> | undefined = undefined;
  /** Delivers an answer that arrived before a listener was set. */
  private early: (() => void) | undefined = undefined;

  deliverTo(listener: AnswerListener<T>): void {
    this.listener = listener;
    this.early?.();
  }

  // oxlint-disable-next-line unicorn/no-thenable -- an answer is awaited like a promise
  get then(): Promise<T>['then'] {
    this.promise ??= new Promise((answered, failed) => this.deliverTo({ answered, failed }));
    return this.promise.then.bind(this.promise);
  }

  failed(error: Error): void {
    if (this.listener === undefined) this.early = () => this.failed(error);
    else this.listener.failed(error);
  }

  late(): void {
    this.listener?.late?.();
  }

  /** Delivers the answer. Returns true because the reply is valid. */
  protected resolve(answer: T): true {
    if (this.listener === undefined) this.early = () => void this.resolve(answer);
    else this.listener.answered(answer);
    return true;
  }
}
