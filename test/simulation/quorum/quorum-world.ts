import { Random } from '../random.js';
import { Timeline } from '../timeline.js';
import { checkExactHistory } from '../../histories/check/check-history.js';
import { Recorder } from '../recorder.js';
import { Holders } from './holders.js';
import type { RunScript } from '../../support/run-script.js';
import { NodeServer } from './node-server.js';
import { QuorumProcess } from './quorum-process.js';

/** Faults occur and callers arrive within this time. */
const TROUBLE_MS = 4_000;
/** This long after the faults and the last caller, no key of a live process may be left. */
const QUIET_MS = 2_500;
const LATEST_MS = 40_000;
/** Larger than the difference between the rates of the clocks. */
const CLOCKS_SHARE = 0.01;

const nextTurn = setImmediate;

/**
 * Whether restarted nodes lose their data. docs/safety.md requires to start an empty node after the longest ttl only. A
 * node that starts empty at once can let a second holder in; then the first one must be notified within a ttl.
 */
type Forgetting = 'never' | 'after the longest ttl' | 'at once';

export interface SimulatedNode {
  readonly server: NodeServer;
  awayUntil: number;
}

/** One history of a quorum, repeatable by its seed. It ends with the first broken rule. */
export class QuorumWorld {
  readonly random: Random;
  readonly nodes: SimulatedNode[] = [];
  readonly processes: QuorumProcess[] = [];
  readonly keys: number;
  violation: string | undefined;
  readonly recorder: Recorder = new Recorder(this);
  readonly holders: Holders;
  readonly ttlsMs: readonly number[];
  /** The share of holders that hold for several renewals. */
  readonly longHolds: number;
  /** Whether there are times without any caller. */
  readonly longPauses: boolean;
  private readonly timeline = new Timeline();
  private readonly latencyMs: number;
  private readonly calm: boolean;
  private readonly forgetting: Forgetting;

  constructor(
    seed: number,
    private readonly runScript?: RunScript,
    /** Receives a line for each event. */
    private readonly trace?: string[],
  ) {
    this.random = new Random(seed);
    const { random } = this;
    this.keys = random.chance(0.8) ? 1 : 2;
    this.latencyMs = random.pick([1, 5, 20, 80]);
    this.calm = random.chance(0.1);
    this.forgetting = random.pick(['never', 'never', 'after the longest ttl', 'at once'] as const);
    this.ttlsMs = this.forgetting === 'never' ? [200, 600, 2_000, 20_000] : [200, 600];
    this.holders = new Holders(this, this.forgetting === 'at once');
    this.longHolds = this.forgetting === 'never' ? 0.1 : 0.4;
    this.longPauses = this.forgetting === 'at once';
    for (let i = random.pick([3, 3, 4, 5]); i > 0; i -= 1) this.nodes.push(this.makeNode());
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

  async run(): Promise<this> {
    for (const process of this.processes) {
      for (let callers = this.longPauses ? 1 : this.random.int(1, 3); callers > 0; callers -= 1)
        void process.call(TROUBLE_MS);
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
      this.holders.check();
    }
    if (quietSince === Infinity) this.fail('a caller never ended');
    this.checkLeftovers();
    this.checkEvents();
    return this;
  }

  private makeNode(): SimulatedNode {
    const rate = this.random.between(0.997, 1.003);
    // Lost fencing tokens are replaced by those of the clocks, so the clocks must agree.
    const apart = this.forgetting !== 'never' || this.random.chance(0.5) ? 10 : 1e7;
    const offset = this.random.between(1e9, 1e9 + apart);
    const node: SimulatedNode = {
      awayUntil: 0,
      server: new NodeServer(
        {
          now: () => offset + this.now * rate,
          publish: (processId, message) => {
            const connection = this.processes.find(({ id }) => id === processId)?.connections[this.nodes.indexOf(node)];
            return connection?.deliver(message) === true ? 1 : 0;
          },
        },
        this.runScript,
      ),
    };
    return node;
  }

  private planFaults(): void {
    const { random, processes, nodes, forgetting } = this;
    for (let faults = random.int(1, 12); faults > 0; faults -= 1) {
      this.in(random.between(0, TROUBLE_MS), () => {
        const process = random.pick(processes);
        const connection = random.pick(process.connections);
        const kind = random.next();
        if (kind < (forgetting === 'never' ? 0.1 : 0.4)) this.restartSome();
        else if (kind < 0.5) connection.breakFor(random.between(1, 800));
        else if (kind < 0.7) connection.mute(random.between(10, 1_500));
        else if (kind < 0.95) this.stop(random.pick(nodes), random.between(10, 1_500));
        else if (processes.filter(({ gone }) => !gone).length > 1) process.crash();
      });
    }
  }

  private stop(node: SimulatedNode, forMs: number): void {
    node.awayUntil = Math.max(node.awayUntil, this.now + forMs);
  }

  private restartSome(): void {
    const { random, nodes, forgetting } = this;
    if (forgetting !== 'at once') return this.restart(random.pick(nodes));
    for (const node of nodes) if (random.chance(0.5)) this.restart(node);
  }

  /** Breaks its connections, and restarts it with or without its data. */
  private restart(node: SimulatedNode): void {
    const { random, forgetting, ttlsMs } = this;
    const empty = forgetting !== 'never' && random.chance(0.8);
    const leastMs = empty && forgetting === 'after the longest ttl' ? Math.max(...ttlsMs) * (1 + CLOCKS_SHARE) : 10;
    const downMs = leastMs + random.between(0, random.pick([10, 700]));
    this.note(`n${this.nodes.indexOf(node)} restarts${empty ? ' empty' : ''}, ${downMs.toFixed(0)} ms`);
    this.stop(node, downMs + 0.1);
    for (const { connections } of this.processes) connections[this.nodes.indexOf(node)].breakFor(downMs);
    if (empty) this.in(downMs, () => node.server.forget());
  }

  private checkEvents(): void {
    // Transfers may take longer than the limit of a command.
    this.recorder.run({ type: 'fault', name: 'late transfers', from: 0, cutOff: false }, Infinity);
    // Each key has a counter. Forgetful nodes may grant a lock again before its holder has handed it over with a reserved token.
    const exempt = ['unique tokens', ...(this.forgetting === 'at once' ? ['fencing'] : [])];
    for (const { rule, message } of checkExactHistory(this.recorder.events))
      if (!exempt.includes(rule)) this.fail(`${rule}: ${message}`);
  }

  private checkLeftovers(): void {
    if (this.violation !== undefined) return;
    const alive = (token: string | undefined): boolean =>
      this.processes.some(({ id, gone }) => !gone && token?.startsWith(id) === true);
    for (const { server } of this.nodes) {
      for (const key of ['k0', 'k1']) {
        if (alive(server.voted(key))) this.fail(`the vote ${server.voted(key)} is left behind`);
        if (server.queued(key).some(alive))
          this.fail(`places in a queue are left behind: ${server.queued(key).join(' ')}`);
      }
    }
  }
}
