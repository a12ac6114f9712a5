import { type CanActivate, type ExecutionContext, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { LockModule, LockService } from 'nestjs-distribute-lock';
import { LockDashboardModule, type LockDashboardOptions } from 'nestjs-distribute-lock/dashboard';

import { onCleanup } from '../../support/cleanup.js';

export const CONSENT = { authorization: 'operator' };

/** Consents to requests with a header. */
@Injectable()
class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; user?: unknown }>();
    request.user = { id: 7, username: 'ada' };
    const { headers } = request;
    return headers['authorization'] === CONSENT.authorization;
  }
}

export interface PageApp {
  readonly url: string;
  readonly locks: LockService;
  close(): Promise<void>;
}

export interface PageAppOptions {
  readonly connection: string;
  readonly prefix: string;
  readonly platform?: 'express' | 'fastify';
  readonly globalPrefix?: string;
  readonly dashboard?: Partial<LockDashboardOptions>;
}

/** An application with the page, on a port that the system chooses. */
export async function startPageApp(options: PageAppOptions): Promise<PageApp> {
  const { connection, prefix, platform = 'express', globalPrefix, dashboard = {} } = options;
  @Module({
    imports: [
      LockModule.forRoot({ connection, prefix }),
      LockDashboardModule.forRoot({ guard: OperatorGuard, instance: 'one', ...dashboard }),
    ],
  })
  class AppModule {}
  const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create<NestFastifyApplication>(AppModule, adapter, { logger: ['error'] });
  if (globalPrefix !== undefined) app.setGlobalPrefix(globalPrefix);
  await app.listen(0, '127.0.0.1');
  onCleanup(() => app.close());
  const { port } = app.getHttpServer().address() as { port: number };
  const path = globalPrefix === undefined ? '' : `/${globalPrefix}`;
  return { url: `http://127.0.0.1:${port}${path}/locks`, locks: app.get(LockService), close: () => app.close() };
}

/** The words of one event. */
export type Words = Readonly<Record<string, unknown>>;

/** A client that reads the events of the page. */
export class PageReader {
  readonly deltas: Words[] = [];
  bytes = 0;
  private readonly abort = new AbortController();

  static async open(url: string, query = ''): Promise<PageReader> {
    const reader = new PageReader();
    onCleanup(() => reader.close());
    const response = await fetch(`${url}/events${query}`, { headers: CONSENT, signal: reader.abort.signal });
    if (response.status !== 200) throw new Error(`The page answered ${response.status}`);
    void reader.read(response).catch(() => undefined);
    return reader;
  }

  close(): void {
    this.abort.abort();
  }

  /** The latest value that the server sent for the name. */
  latest(name: string): unknown {
    return this.deltas.findLast((delta) => delta[name] !== undefined)?.[name];
  }

  /** All entries of the lists that the server sent for the name. */
  all<T>(name: string): T[] {
    return this.deltas.flatMap((delta) => (delta[name] as T[] | undefined) ?? []);
  }

  private async read({ body }: Response): Promise<void> {
    let text = '';
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
      this.bytes += Buffer.byteLength(chunk);
      text += chunk;
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const [, data] = /^event: delta\ndata: (.*)$/m.exec(event) ?? [];
        if (data !== undefined) this.deltas.push(JSON.parse(data) as Words);
      }
    }
  }
}
