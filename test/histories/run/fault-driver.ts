import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

import { RedisKeys } from '../../../libs/distribute-lock/src/store/redis/redis-keys.js';
import { PREFIX } from '../../fault/support/lock-engine.js';
import { monotonicMs } from '../../support/monotonic.js';
import type { FaultProxy } from '../../support/proxy/fault-proxy.js';
import type { RedisServer } from '../../support/redis-server.js';
import { startErrors, endErrors } from './passing-errors.js';
import type { RunEvent } from '../event.js';
import { OF_DATA, OF_REPLIES, OF_SERVER, type FaultName, type FaultPlan } from '../plan/fault-plan.js';
import type { Recorder } from './recorder.js';
import type { Worker } from './worker.js';

/** The objects that faults affect. */
export interface Scene {
  readonly server: RedisServer;
  /** The proxy of each process to the server. */
  readonly ways: readonly FaultProxy[];
  readonly keys: readonly string[];
  readonly recorder: Recorder<RunEvent>;
  worker(number: number): Worker;
  /** Kills a process, and starts a new one that does the rest of its operations. */
  kill(number: number): Promise<void>;
  /** Shuts a process down, and starts a new one. */
  shutDown(number: number): Promise<void>;
  /** Exchanges the roles of primary and replica. */
  failOver(): Promise<void>;
  /** Uses a lock engine of the run, over a connection without faults. */
  forceRelease(key: string): Promise<unknown>;
}

const KEYS = new RedisKeys(PREFIX);
/** A command without a reply may be executed this late. */
const MAY_BE_LATE_MS = 3_000;

/** Causes faults one after the other; each is over when its promise resolves. */
export class FaultDriver {
  constructor(private readonly scene: Scene) {}

  async run(lanes: readonly (readonly FaultPlan[])[], ended: AbortSignal): Promise<void> {
    await Promise.all(lanes.map((faults) => this.runLane(faults, ended)));
  }

  private async runLane(faults: readonly FaultPlan[], ended: AbortSignal): Promise<void> {
    for (const fault of faults) {
      await sleep(fault.afterMs, undefined, { signal: ended }).catch(() => undefined);
      if (ended.aborted) return;
      await this.happen(fault);
    }
  }

  private happen(fault: FaultPlan): Promise<void> {
    const { name, process } = fault;
    if (name === 'kill') return this.scene.kill(process);
    if (name === 'shut-down') return this.scene.shutDown(process);
    if (name === 'planned-failover') return this.failOver(name);
    if (isOneOf(OF_REPLIES, name)) return this.ofReplies(fault);
    if (isOneOf(OF_SERVER, name)) return this.ofServer(fault);
    return isOneOf(OF_DATA, name) ? this.ofData(fault) : this.ofProcess(fault);
  }

  private async ofProcess({ name, forMs, process, draw }: FaultPlan): Promise<void> {
    const way = this.scene.ways[process];
    const worker = this.scene.worker(process);
    const from = monotonicMs();
    let cutOff = false;
    if (name === 'stop') worker.pause();
    else if (name === 'cut') way.cut();
    else if (name === 'delay') way.delay(draw * 150, draw * 100);
    else if (name === 'lose-reply') void way.swallowNextReply(/evalsha/i);
    else if (name === 'refuse') {
      way.goDown();
      cutOff = true;
    } else {
      cutOff = name !== 'half-open-to-client';
      way.hold(cutOff && name === 'half-open' ? undefined : cutOff ? 'toServer' : 'toClient');
    }
    await sleep(forMs);
    // the held bytes are lost, or arrive late
    if (name.startsWith('half-open') && draw < 0.5) way.cut();
    if (name === 'stop') worker.resume();
    else await way.resume();
    this.scene.recorder.record({ type: 'fault', name, from, of: worker.settings.name, cutOff });
  }

  private async ofServer({ name, forMs }: FaultPlan): Promise<void> {
    const { server, recorder } = this.scene;
    const from = monotonicMs();
    if (name === 'flush-scripts') {
      await server.run((redis) => redis.script('FLUSH'));
    } else if (name === 'stop-server') {
      server.pause();
      await sleep(forMs);
      server.resume();
    } else {
      // Its append-only file contains all writes with a reply.
      await server.kill();
      await sleep(Math.min(forMs, 500));
      await server.start();
    }
    recorder.record({ type: 'fault', name, from, cutOff: name !== 'flush-scripts' });
  }

  private async failOver(name: FaultName): Promise<void> {
    const from = monotonicMs();
    await this.scene.failOver();
    this.scene.recorder.record({ type: 'fault', name, from, cutOff: false });
  }

  private async ofReplies({ name, forMs }: FaultPlan): Promise<void> {
    const { server, ways, recorder } = this.scene;
    const from = monotonicMs();
    const mayPublish = (may: boolean): Promise<unknown> =>
      server.run((redis) => redis.call('ACL', 'SETUSER', 'default', `${may ? '+' : '-'}publish`));
    if (name === 'passing-errors') startErrors(ways);
    else await mayPublish(false);
    await sleep(forMs);
    if (name === 'passing-errors') endErrors(ways);
    else await mayPublish(true);
    recorder.record({ type: 'fault', name, from, cutOff: false });
  }

  private async ofData({ name, draw }: FaultPlan): Promise<void> {
    const { server, recorder, keys } = this.scene;
    const key = keys[Math.floor(draw * keys.length)];
    const from = monotonicMs();
    if (name === 'restart-empty') {
      await server.restart({ empty: true });
      recorder.record({ type: 'fault', name, from, cutOff: true });
      recorder.record({ type: 'data-lost', name, from });
    } else if (name === 'flush-all') {
      await server.run((redis) => redis.flushall());
      recorder.record({ type: 'data-lost', name, from });
    } else {
      const done =
        name === 'force-release' ? this.scene.forceRelease(key) : server.run((redis) => deleteOf(redis, name, key));
      const failed = await done.then(
        () => false,
        () => true,
      );
      recorder.record({ type: 'data-lost', name, from, key }, monotonicMs() + (failed ? MAY_BE_LATE_MS : 0));
    }
  }
}

const isOneOf = (names: readonly FaultName[], name: FaultName): boolean => names.includes(name);

function helpersOf(lock: string): string[] {
  return [KEYS.queue(lock), KEYS.readers(lock), KEYS.gate(lock), ...KEYS.permits(lock)];
}

function deleteOf(redis: Redis, name: FaultName, key: string): Promise<unknown> {
  const lock = KEYS.lock(key);
  return redis.del(name === 'delete-key' ? [lock] : helpersOf(lock));
}
