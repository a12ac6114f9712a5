import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

import { eventually } from '../../support/eventually.js';
import { CHECKPOINT, checkpointCommand } from './checkpoint.js';

/** The folder of the logs, in the folder of a history. */
export const LOGS = 'servers';
/** The label of the last checkpoint. */
export const END = 'end';
const USUAL = 'usual';

const CONNECT_AGAIN_MS = 10;
/** The first checkpoints come soon, because a server that loads its data refuses them. */
const PAUSES_MS = [5, 10, 20, 40];
const PAUSE_MS = 100;
/** Ends a hang only. */
const ENDS_WITHIN_MS = 20_000;

/**
 * Writes all that MONITOR shows of a server to files, one for each connection: the commands of all clients in their order, the
 * recorded calls of scripts, and a checkpoint at least every 100 ms.
 */
export class ServerLog {
  private connections = 0;
  private monitor: Socket | undefined;
  private commands: Socket | undefined;
  private closed = false;
  /** The latest output, while the log ends. */
  private tail: string | undefined;

  private constructor(
    private readonly port: number,
    private readonly folder: string,
    private readonly name: string,
  ) {}

  /** @param folder - the folder of the history */
  static async start(port: number, folder: string, name: string): Promise<ServerLog> {
    const log = new ServerLog(port, join(folder, LOGS), name);
    mkdirSync(log.folder, { recursive: true });
    log.connect();
    await eventually(() => {
      if (log.commands === undefined) throw new Error(`MONITOR does not respond on port ${port}.`);
    }, ENDS_WITHIN_MS);
    return log;
  }

  /** Writes a checkpoint now, such as after a failover. */
  checkpoint(label = USUAL): void {
    this.commands?.write(checkpointCommand(label));
  }

  /** Writes the last checkpoint, and waits until the log contains it. */
  async end(): Promise<void> {
    this.tail = '';
    await eventually(() => {
      if (this.tail?.includes(`${CHECKPOINT} ${END} `)) return;
      this.checkpoint(END);
      throw new Error(`The log of the server on port ${this.port} has no end.`);
    }, ENDS_WITHIN_MS);
  }

  close(): void {
    this.closed = true;
    this.monitor?.destroy();
  }

  private connect(): void {
    if (this.closed) return;
    let file: number | undefined;
    const monitor = (this.monitor = connect(this.port, '127.0.0.1', () => monitor.write('MONITOR\r\n')));
    monitor.on('data', (chunk: Buffer) => {
      file ??= openSync(join(this.folder, `${this.name}.${(this.connections += 1)}`), 'w');
      writeSync(file, chunk);
      if (this.tail !== undefined) this.tail = (this.tail + chunk.toString('latin1')).slice(-1_000_000);
      this.commands ??= this.writeCheckpoints();
    });
    monitor.on('error', () => {}); // `close` follows
    monitor.on('close', () => {
      if (file !== undefined) closeSync(file);
      this.commands?.destroy();
      this.commands = undefined;
      setTimeout(() => this.connect(), CONNECT_AGAIN_MS);
    });
  }

  private writeCheckpoints(): Socket {
    const pauses = [...PAUSES_MS];
    let timer: NodeJS.Timeout | undefined;
    const write = (): void => {
      timer = undefined;
      if (!commands.destroyed) commands.write(checkpointCommand(USUAL));
    };
    const commands = connect(this.port, '127.0.0.1', write);
    // The next one follows the reply, so that a stopped server gets one only.
    commands.on('data', () => (timer ??= setTimeout(write, pauses.shift() ?? PAUSE_MS)));
    commands.on('error', () => {}); // the monitor connects again
    return commands;
  }
}
