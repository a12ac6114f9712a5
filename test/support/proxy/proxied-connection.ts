import type { Socket } from 'node:net';

import { monotonicMs } from '../monotonic.js';
import { OneWay } from './one-way.js';
import { RespFrames, wordsOf } from './resp-frames.js';

/**
 * The purpose of a connection, derived from its requests. A RESP3 connection may serve both commands and messages.
 * `watch` is a subscription to the messages of a Sentinel.
 */
export type Role = 'commands' | 'inbox' | 'watch';

export const DIRECTIONS = ['toServer', 'toClient'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** A fault for the reply to one request. */
interface ReplyFault {
  readonly request: RegExp;
  /** The replacement of the reply. `undefined` discards the reply and all later bytes of this connection. */
  readonly instead: string | undefined;
  readonly happened: () => void;
}

/** A request without a reply so far, or with a made-up reply. */
interface Request {
  readonly request: string;
  readonly reply?: string;
  /** The reply is lost with the connection. */
  readonly swallowed?: (() => void) | undefined;
}

/** After this request the connection carries replication, which is no sequence of requests and replies. */
const REPLICATION = /^psync$/i;
const SWITCH = '+switch-master';
const MESSAGES = /^[*>]\d+\r\n\$\d+\r\np?message\r\n/;

/** One connection from a client to the proxy, and the connection of the proxy to the server. */
export class ProxiedConnection {
  readonly roles = new Set<Role>();
  requests = 0;
  /** When the client closed the connection, on the monotonic clock. */
  closedAt: number | undefined;
  private readonly toServer: OneWay;
  private readonly toClient: OneWay;
  private readonly sentFrames = new RespFrames();
  private readonly answered = new RespFrames();
  private readonly unanswered: Request[] = [];
  private readonly replyFaults: ReplyFault[] = [];
  /** Bytes pass without being read. */
  private raw = false;
  private intercepted: { readonly request: RegExp; readonly replyTo: () => string | undefined } | undefined;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    /** Called with each request. The reply is lost, and then the function that this returns is called. */
    private readonly requested: (request: string) => (() => void) | undefined,
  ) {
    this.toServer = new OneWay(server);
    this.toClient = new OneWay(client);
    client.on('data', (chunk: Buffer) => this.request(chunk));
    server.on('data', (chunk: Buffer) => this.reply(chunk));
    client.on('close', () => (this.closedAt = monotonicMs()));
    for (const side of [client, server]) side.setNoDelay(true).on('error', () => {}); // 'close' follows
    client.on('close', () => this.toServer.push(undefined));
    server.on('close', () => this.toClient.push(undefined));
  }

  get open(): boolean {
    return this.closedAt === undefined;
  }

  /** Holds all bytes in both directions, and closes nothing. */
  halfOpen(): void {
    this.toServer.hold();
    this.toClient.hold();
  }

  /** Closes the connection at the server, and does not inform the client. */
  closeAtServer(): void {
    this.toServer.stop();
    this.toClient.stop();
    this.server.destroy();
  }

  /** Closes the connection at the client; its bytes wait until `deliver()`. */
  closeAtClient(): void {
    this.toServer.hold();
    this.toClient.stop();
    this.client.resetAndDestroy();
  }

  /** Holds the bytes to the server until `deliver()`. */
  holdRequests(): void {
    this.toServer.hold();
  }

  /** Holds the bytes of the server until `resume()`. */
  holdReplies(): void {
    this.toClient.hold();
  }

  /** Whether the proxy holds requests that the server has not received. */
  get holdsRequests(): boolean {
    return this.toServer.holds;
  }

  /** Delivers the held requests to the server, also after the client has closed the connection. */
  deliver(): void {
    this.toServer.resume();
  }

  /** Lets all bytes pass at once. */
  resume(): void {
    this.delay(0);
    this.toServer.resume();
    this.toClient.resume();
  }

  delay(ms: number, jitterMs = 0): void {
    this.toServer.delay(ms, jitterMs);
    this.toClient.delay(ms, jitterMs);
  }

  /** The server executes the next matching request. Its reply and all later bytes are discarded, and nothing closes. */
  loseReply(request: RegExp): Promise<void> {
    return this.fault(request, undefined);
  }

  /** The server executes the next matching request, and the client gets `instead` as the reply. */
  replaceReply(request: RegExp, instead: string): Promise<void> {
    return this.fault(request, instead);
  }

  /** Matching requests never reach the server and get this reply, as in `MULTI`. */
  intercept(request: RegExp, reply: string): void {
    this.interceptSome(request, () => reply);
  }

  /** As {@link intercept}; a matching request for which `replyTo` returns undefined reaches the server. */
  interceptSome(request: RegExp, replyTo: () => string | undefined): void {
    this.intercepted = { request, replyTo };
  }

  endIntercept(): void {
    this.intercepted = undefined;
  }

  /** Resets the connection on both sides. */
  cut(): void {
    this.toServer.stop();
    this.toClient.stop();
    for (const side of [this.client, this.server]) {
      // Node does not release a socket that is reset after `end()`.
      if (side.writableEnded) side.destroy();
      else side.resetAndDestroy();
    }
  }

  private fault(request: RegExp, instead: string | undefined): Promise<void> {
    return new Promise((happened) => this.replyFaults.push({ request, instead, happened }));
  }

  private request(chunk: Buffer): void {
    if (this.raw) return this.toServer.push(chunk);
    for (const frame of this.sentFrames.push(chunk)) {
      const words = wordsOf(frame);
      const request = words.join(' ');
      this.note(words);
      const swallowed = this.requested(request);
      const reply = this.intercepted?.request.test(request) === true ? this.intercepted.replyTo() : undefined;
      this.unanswered.push({ request, swallowed, ...(reply !== undefined && { reply }) });
      if (reply === undefined) this.toServer.push(frame);
    }
    this.passMadeUp();
  }

  private note([command, subject]: readonly string[]): void {
    this.requests += 1;
    if (REPLICATION.test(command)) this.raw = true;
    if (/^evalsha|^eval$/i.test(command)) this.roles.add('commands');
    if (/^subscribe$/i.test(command)) this.roles.add(subject === SWITCH ? 'watch' : 'inbox');
  }

  private reply(chunk: Buffer): void {
    if (this.raw) return this.toClient.push(chunk);
    for (const frame of this.answered.push(chunk)) {
      if (MESSAGES.test(frame.toString('latin1', 0, 32))) this.toClient.push(frame);
      else this.answer(this.unanswered.shift(), frame);
      this.passMadeUp();
    }
  }

  /** Sends made-up replies in the order of their requests. */
  private passMadeUp(): void {
    for (;;) {
      const reply = this.unanswered[0]?.reply;
      if (reply === undefined) return;
      this.unanswered.shift();
      this.toClient.push(Buffer.from(reply, 'latin1'));
    }
  }

  private answer({ request, swallowed }: Request = { request: '' }, frame: Buffer): void {
    if (swallowed !== undefined) {
      this.cut();
      return swallowed();
    }
    const at = this.replyFaults.findIndex((fault) => fault.request.test(request));
    const [fault] = at < 0 ? [] : this.replyFaults.splice(at, 1);
    if (fault === undefined) return this.toClient.push(frame);
    if (fault.instead === undefined) this.toClient.stop();
    else this.toClient.push(Buffer.from(fault.instead, 'latin1'));
    fault.happened();
  }
}
