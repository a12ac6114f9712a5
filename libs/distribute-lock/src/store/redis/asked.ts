import type { Answer, AnswerListener } from '../answer.js';
import { Command } from './command.js';

/** A command and its future answer. */
export abstract class Asked<T> extends Command implements Answer<T> {
  private listener: AnswerListener<T> | undefined = undefined;
  private promise: Promise<T> | undefined = undefined;
  /** Delivers an answer that arrived before a listener was set. */
  private early: (() => void) | undefined = undefined;

  tell(listener: AnswerListener<T>): void {
    this.listener = listener;
    this.early?.();
  }

  // oxlint-disable-next-line unicorn/no-thenable -- an answer is awaited like a promise
  get then(): Promise<T>['then'] {
    this.promise ??= new Promise((answered, failed) => this.tell({ answered, failed }));
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
