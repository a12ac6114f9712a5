import type { Lease } from '../../../libs/distribute-lock/src/lease/lease.js';
import { Random } from '../random.js';
import { Timeline } from '../timeline.js';
import { NodeModel, type NodeSurroundings } from './node-model.js';
import { QuorumProcess } from './quorum-process.js';

/** Faults happen and callers come within so long. */
const TROUBLE_MS = 4_000;
/** After that, and after the last caller: nothing may be left of a process that lives. */
const QUIET_MS = 2_500;
const LATEST_MS = 40_000;

const nextTurn = setImmediate;

export interface SimulatedNode {
  readonly model: NodeModel;
  awayUntil: number;
}

export type MakeNode = (surroundings: NodeSurroundings) => NodeModel;

/** One history of a quorum, repeated by its seed. It ends with the first rule that is broken. */
export class QuorumWorld {
  readonly random: Random;
  readonly nodes: SimulatedNode[] = [];
  readonly processes: QuorumProcess[] = [];
  readonly keys: number;
  readonly mostHoldMs = 1_000;
  violation: string | undefined;
  holds = 0;
  private readonly timeline = new Timeline();
  private readonly held = new Map<Lease, QuorumProcess>();
  private readonly lastToken = new Map<string, number>();
  private readonly latencyMs: number;
  private readonly calm: boolean;

  constructor(
    seed: number,
    makeNode: MakeNode = (surroundings) => new NodeModel(surroundings),
    /** Gets a line for whatever happens. */
    private readonly trace?: string[],
  ) {
    this.random = new Random(seed);
    const { random } = this;
    this.keys = random.chance(0.8) ? 1 : 2;
    this.latencyMs = random.pick([1, 5, 20, 80]);
    this.calm = random.chance(0.1);
    for (let i = random.pick([3, 3, 4, 5]); i > 0; i -= 1) this.nodes.push(this.makeNode(makeNode));
    for (let i = random.int(2, 3); i > 0; i -= 1) this.processes.push(new QuorumProcess(this, i));
  }

  get now(): number {
    return this.timeline.now;
  }

  in(ms: number, run: () => void): void {
    this.timeline.add(this.timeline.now + ms, undefined, run);
  }

  transferMs(): number {
    return this.random.chance(0.02)
      ? this.random.between(0, 10 * this.latencyMs)
      : this.random.between(0, this.latencyMs);
  }

  note(what: string): void {
    this.trace?.push(`${this.now.toFixed(1)} ${what}`);
  }

  fail(what: string): void {
    this.violation ??= `${what} (at ${this.now.toFixed(1)} ms)`;
  }

  started(process: QuorumProcess, lease: Lease): void {
    this.holds += 1;
    const { key, fencingToken } = lease;
    if (fencingToken <= (this.lastToken.get(key) ?? -Infinity)) this.fail('fencing tokens do not rise');
    this.lastToken.set(key, fencingToken);
    this.held.set(lease, process);
  }

  ended(lease: Lease): void {
    this.held.delete(lease);
  }

  async run(): Promise<this> {
    for (const process of this.processes) {
      for (let callers = this.random.int(1, 3); callers > 0; callers -= 1) void process.call(TROUBLE_MS);
    }
    if (!this.calm) this.planFaults();
    this.in(LATEST_MS, () => undefined);
    let quietSince = Infinity;
    while (this.violation === undefined && this.now < Math.min(LATEST_MS, quietSince + QUIET_MS)) {
      await new Promise(nextTurn);
      if (
        quietSince === Infinity &&
        this.now > TROUBLE_MS &&
        this.processes.every(({ busy, gone }) => gone || busy === 0)
      ) {
        quietSince = this.now;
        this.in(QUIET_MS, () => undefined);
      }
      this.timeline.take()?.run();
      this.check();
    }
    if (quietSince === Infinity) this.fail('a caller never ended');
    this.checkLeftovers();
    return this;
  }

  private makeNode(make: MakeNode): SimulatedNode {
    const rate = this.random.between(0.997, 1.003);
    const offset = this.random.between(1e9, 1e9 + (this.random.chance(0.5) ? 10 : 1e7));
    const node: SimulatedNode = {
      awayUntil: 0,
      model: make({
        now: () => offset + this.now * rate,
        publish: (processId, message) => {
          const line = this.processes.find(({ id }) => id === processId)?.lines[this.nodes.indexOf(node)];
          return line?.deliver(message) === true ? 1 : 0;
        },
      }),
    };
    return node;
  }

  private planFaults(): void {
    const { random, processes, nodes } = this;
    for (let faults = random.int(1, 12); faults > 0; faults -= 1) {
      this.in(random.between(0, TROUBLE_MS), () => {
        const process = random.pick(processes);
        const line = random.pick(process.lines);
        const kind = random.next();
        if (kind < 0.4) line.breakFor(random.between(1, 800));
        else if (kind < 0.65) line.mute(random.between(10, 1_500));
        else if (kind < 0.95) random.pick(nodes).awayUntil = this.now + random.between(10, 1_500);
        else if (processes.filter(({ gone }) => !gone).length > 1) process.crash();
      });
    }
  }

  /** At every moment at most one lease of a key is believed. */
  private check(): void {
    const believed = new Set<string>();
    for (const [lease, process] of this.held) {
      if (process.gone) this.held.delete(lease);
      else if (lease.isHeld()) {
        if (believed.has(lease.key)) this.fail('two valid holds');
        believed.add(lease.key);
      }
    }
  }

  private checkLeftovers(): void {
    if (this.violation !== undefined) return;
    const alive = (token: string | undefined): boolean =>
      this.processes.some(({ id, gone }) => !gone && token?.startsWith(id) === true);
    for (const { model } of this.nodes) {
      for (const key of ['k0', 'k1']) {
        if (alive(model.voted(key))) this.fail(`the vote ${model.voted(key)} is left behind`);
        if (model.queued(key).some(alive))
          this.fail(`places in a queue are left behind: ${model.queued(key).join(' ')}`);
      }
    }
  }
}
