/** Receives one answer of the store. */
export interface AnswerListener<T> {
  answered(answer: T): void;
  failed(error: Error): void;
  /** Called when an answer arrives after {@link failed}: the store may have executed the command only now. */
  late?(): void;
}

/**
 * A future answer that can be delivered without creating a promise. Promises cost time, above all when async context is
 * tracked.
 */
export interface Answer<T> extends PromiseLike<T> {
  /** Delivers the answer to one listener. Must be called before the answer is awaited. */
  tell(listener: AnswerListener<T>): void;
}

/** Notifies the listener of the store's answer, synchronously or in a microtask. */
export function whenAnswered<T>(answer: PromiseLike<T> | Answer<T>, listener: AnswerListener<T>): void {
  if ('tell' in answer) return answer.tell(listener);
  void answer.then(
    (value) => listener.answered(value),
    (error: Error) => listener.failed(error),
  );
}
