import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

import { Body, Controller, Param, Post, Res, StreamableFile } from '@nestjs/common';
import { currentLease, DistributeLock } from 'nestjs-distribute-lock';

import { Model } from './model.js';

@Controller('conversations')
export class ConversationsController {
  constructor(private readonly model: Model) {}

  /** At most 2 answers per user at a time. `user` comes from a guard. */
  @Post(':id/answers')
  @DistributeLock({ key: 'answers:#{user.id}', kind: 'semaphore', permits: 2, contendedStatus: 429 })
  async answer(
    @Param('id') id: string,
    @Body('question') question: string,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const left = new AbortController();
    response.once('close', () => left.abort()); // the answer is sent, or the client has left
    const signal = AbortSignal.any([left.signal, currentLease().signal]);
    return new StreamableFile(Readable.from(this.events(id, question, signal)), { type: 'text/event-stream' });
  }

  private async *events(id: string, question: string, signal: AbortSignal): AsyncGenerator<string> {
    for await (const text of this.model.answer(id, question, { signal })) {
      yield `data: ${JSON.stringify({ text })}\n\n`;
    }
  }
}
