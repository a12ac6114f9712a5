import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Duration, Leader, type LeaderTerm, LockModule } from 'nestjs-distribute-lock';

import { parentProcess } from '../../support/parent-process.js';

/** An instance of an application that leads whenever it can, until its term ends. */
const parent = parentProcess<{ block: number }>();
let present: LeaderTerm | undefined;

@Injectable()
class Feed {
  @Leader({ key: 'feed', ttl: process.env['TTL'] as Duration, backoff: [50, 200] })
  async lead(term: LeaderTerm): Promise<void> {
    present = term;
    parent.send('began', { token: term.fencingToken, at: Date.now() });
    // Each turn of the loop reports how long the term was proven.
    const proof = setInterval(() => term.isLeader && parent.send('proven', Date.now()), 20);
    await new Promise<void>((resolve) => term.signal.addEventListener('abort', () => resolve()));
    clearInterval(proof);
    parent.send('ended', { token: term.fencingToken, at: Date.now() });
  }
}

const app = await NestFactory.createApplicationContext(
  {
    module: class {},
    imports: [LockModule.forRoot({ connection: process.env['REDIS_URL']! })],
    providers: [Feed],
  },
  { logger: false },
);
app.enableShutdownHooks();
parent.on('block', (ms) => {
  const term = present;
  const until = performance.now() + ms;
  while (performance.now() < until);
  const { isLeader } = term!;
  setImmediate(() => setTimeout(() => parent.send('unblocked', { isLeader, aborted: term!.signal.aborted }), 50));
});
parent.send('ready', undefined);
