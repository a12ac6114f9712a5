/** A word of the script's answer; the script's header says what the codes mean. */
export type ReplyWord = number | string;

/** Code of a reply that every script knows: the deadline has passed, and nothing was done. */
export const TOO_LATE = 14;

/** One command of the script, and who waits for its answer. */
export abstract class Command {
  constructor(
    readonly lockKey: string,
    readonly queueKey: string,
    /** As the script reads it; see its header. */
    readonly text: string,
    /** Fencing tokens that it wants; 0 when it wants none. */
    readonly block = 0,
  ) {}

  /** How many locks it is about. */
  get locks(): number {
    return 1;
  }

  /** @param deadlineMs - on the server's clock; past it the command gets nothing for this process */
  textUntil(_deadlineMs: number): string {
    return this.text;
  }

  /** The keys that the script wants for each command. */
  addKeys(keys: string[]): void {
    keys.push(this.lockKey, this.queueKey);
  }

  /** The script answered with a number alone. Answers whether that is a reply to this command; nothing happens otherwise. */
  abstract commonCase(x: number): boolean;
  /** Answers whether that is a reply to this command; nothing happens otherwise. */
  abstract answered(code: number, x: ReplyWord, y: ReplyWord): boolean;
  abstract failed(error: Error): void;
  /** It has failed for want of an answer, and now there is one: it may have taken effect behind whatever has undone it. */
  abstract late(): void;
}
