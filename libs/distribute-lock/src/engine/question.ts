import type { AnswerListener, AcquireAnswer } from '../store/lock-store.js';
import type { Attempt } from './attempt.js';

/** Receives the answers to the commands of attempts. */
export interface Questioner {
  answered(question: Question, answer: AcquireAnswer): void;
  failed(attempt: Attempt, error: Error): void;
  late(attempt: Attempt): void;
}

/** A command in flight, with the context for its answer. */
export class Question implements AnswerListener<AcquireAnswer> {
  constructor(
    private readonly questioner: Questioner,
    readonly attempt: Attempt,
    readonly ttlMs: number,
    /** Number of fencing tokens requested. */
    readonly block: number,
    readonly sentAt: number,
  ) {}

  answered(answer: AcquireAnswer): void {
    this.questioner.answered(this, answer);
  }

  failed(error: Error): void {
    this.questioner.failed(this.attempt, error);
  }

  late(): void {
    this.questioner.late(this.attempt);
  }
}
