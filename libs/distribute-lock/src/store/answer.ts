/** An answer to come that can be told without a promise: each of them costs time, above all where call chains are followed. */
export interface Answer<T> extends PromiseLike<T> {
  /** Calls one of them as soon as the answer is there. For one listener, who comes before anybody awaits it. */
  listen(answered: (answer: T) => void, failed: (error: Error) => void): void;
}

/** Calls one of them when the store has answered; at once, or in a microtask. */
export function whenAnswered<T>(
  answer: PromiseLike<T> | Answer<T>,
  answered: (answer: T) => void,
  failed: (error: Error) => void,
): void {
  if ('listen' in answer) answer.listen(answered, failed);
  else void answer.then(answered, failed);
}
