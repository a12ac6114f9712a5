import { addAbortSignal, PassThrough } from 'node:stream';

import { Injectable } from '@nestjs/common';

/** A model that sends a word when a test says so. */
@Injectable()
export class Model {
  readonly answers: Answer[] = [];

  answer(conversation: string, question: string, { signal }: { signal: AbortSignal }): AsyncIterable<string> {
    const answer = new Answer(conversation, question, signal);
    this.answers.push(answer);
    return answer.words();
  }
}

export class Answer {
  ended = false;
  /** The readable side rejects when the signal aborts, as the body of `fetch` does. */
  private readonly stream = new PassThrough({ objectMode: true });

  constructor(
    readonly conversation: string,
    readonly question: string,
    signal: AbortSignal,
  ) {
    addAbortSignal(signal, this.stream);
  }

  say(word: string): void {
    this.stream.write(word);
  }

  end(): void {
    this.stream.end();
  }

  fail(error: Error): void {
    this.stream.destroy(error);
  }

  async *words(): AsyncGenerator<string> {
    try {
      yield* this.stream as AsyncIterable<string>;
    } finally {
      this.ended = true;
    }
  }
}
