/** Who is told of an answer. */
export interface AnswerListener<T> {
  answered(answer: T): void;
  failed(error: Error): void;
  /** It was told of a failure, and now an answer has come all the same: what was asked for may have been done only now. */
  late?(): void;
}

/** An answer to come that can be told without a promise: each of them costs time, above all where call chains are followed. */
export interface Answer<T> extends PromiseLike<T> {
  /** Tells it as soon as it is there, for one listener, who comes before anybody awaits it. */
  tell(listener: AnswerListener<T>): void;
}

/** Tells the listener when the store has answered; at once, or in a microtask. */
export function whenAnswered<T>(answer: PromiseLike<T> | Answer<T>, listener: AnswerListener<T>): void {
  if ('tell' in answer) return answer.tell(listener);
  void answer.then(
    (value) => listener.answered(value),
    (error: Error) => listener.failed(error),
  );
}
