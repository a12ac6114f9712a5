import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { onCleanup } from './cleanup.js';
import { freePort } from './free-port.js';

/** Starts a proxy that terminates the Redis protocol; it ends with the spec file. */
export async function startLayer7Proxy(targetPort: number): Promise<Layer7Proxy> {
  const proxy = new Layer7Proxy(await freePort(), targetPort);
  await proxy.listen();
  return proxy;
}

/**
 * A proxy like those of managed services: the connection of a client stays open when its server fails. Commands without
 * an answer fail then, and later ones wait for the next server. It speaks RESP2 only.
 */
export class Layer7Proxy {
  /** Number of connections that have closed. */
  closed = 0;
  /** Replaces the reply to a command, such as the time of the server. */
  rewrite: (command: string, reply: Reply) => Reply = (_, given) => given;
  private readonly server: Server;

  constructor(
    readonly port: number,
    private readonly targetPort: number,
  ) {
    this.server = createServer((client) => this.accept(client));
    onCleanup(() => void this.server.close());
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async listen(): Promise<void> {
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  private accept(client: Socket): void {
    const backend = new Redis(this.targetPort, '127.0.0.1', {
      maxRetriesPerRequest: null,
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 5,
    });
    backend.on('error', () => {});
    backend.on('message', (channel: string, message: string) => client.write(reply(['message', channel, message])));
    const close = (): void => {
      backend.disconnect();
      client.destroy();
    };
    client
      .once('close', () => (this.closed += 1))
      .on('close', close)
      .on('error', close);
    onCleanup(close);
    let rest = Buffer.alloc(0);
    let answered: Promise<unknown> = Promise.resolve();
    client.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let request = parse(rest); request !== undefined; request = parse(rest)) {
        rest = rest.subarray(request.length);
        const result = run(backend, request.words, this.rewrite);
        // Replies keep the order of the requests.
        answered = answered.then(async () => client.write(await result));
      }
    });
  }
}

async function run(
  backend: Redis,
  [name, ...args]: readonly Buffer[],
  rewrite: Layer7Proxy['rewrite'],
): Promise<Buffer> {
  const command = name.toString().toLowerCase();
  if (command === 'hello') return reply(new Error("ERR unknown command 'hello'"));
  try {
    if (command !== 'subscribe') return reply(rewrite(command, (await backend.callBuffer(command, ...args)) as Reply));
    const channel = args[0].toString();
    return reply(['subscribe', channel, Number(await backend.subscribe(channel))]);
  } catch (error) {
    return reply(error instanceof Error && error.name === 'ReplyError' ? error : new Error('ERR upstream failure'));
  }
}

/** The first request of the bytes, an array of strings, and its length. Undefined while a part is missing. */
function parse(bytes: Buffer): { readonly words: readonly Buffer[]; readonly length: number } | undefined {
  let at = 0;
  const count = (): number | undefined => {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const number = Number(bytes.subarray(at + 1, end).toString());
    at = end + 2;
    return number;
  };
  const words: Buffer[] = [];
  const total = count();
  while (words.length < (total ?? 1)) {
    const length = total === undefined ? undefined : count();
    if (length === undefined || bytes.length < at + length + 2) return undefined;
    words.push(bytes.subarray(at, at + length));
    at += length + 2;
  }
  return { words, length: at };
}

type Reply = Error | Buffer | string | number | null | undefined | readonly Reply[];

/** Encodes a reply in RESP2. */
function reply(value: Reply): Buffer {
  if (value === null || value === undefined) return Buffer.from('$-1\r\n');
  if (value instanceof Error) return Buffer.from(`-${value.message}\r\n`);
  if (typeof value === 'number') return Buffer.from(`:${value}\r\n`);
  if (typeof value === 'string') return reply(Buffer.from(value));
  if (!Buffer.isBuffer(value)) return Buffer.concat([Buffer.from(`*${value.length}\r\n`), ...value.map(reply)]);
  return Buffer.concat([Buffer.from(`$${value.length}\r\n`), value, Buffer.from('\r\n')]);
}
