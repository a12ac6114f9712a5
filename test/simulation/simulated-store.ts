import type {
  AcquireAllAnswer,
  AcquireAnswer,
  AcquireRequest,
  DowngradeRequest,
  LockKind,
  LockName,
  LockStore,
  LockStoreListener,
  ReleaseAnswer,
  ReleaseRequest,
  RenewAnswer,
  RenewRequest,
} from '../../libs/distribute-lock/src/store/lock-store.js';
import { FenceCounter } from '../../libs/distribute-lock/src/store/redis/fence-counter.js';
import { SimulatedConnection, type TooLate } from './simulated-connection.js';
import { SimulatedInbox } from './simulated-inbox.js';
import type { SimulatedProcess } from './simulated-process.js';
import type { World } from './world.js';

/** Kinds with incremented fencing tokens. */
const COUNTING: ReadonlySet<unknown> = new Set([undefined, 'exclusive']);

/** The store port between one process and the server. */
export class SimulatedStore implements LockStore {
  readonly kinds: ReadonlySet<LockKind> = new Set(['exclusive', 'write', 'read', 'semaphore']);
  readonly connection: SimulatedConnection;
  readonly inbox: SimulatedInbox;
  private readonly counter = new FenceCounter();

  constructor(
    private readonly world: World,
    private readonly process: SimulatedProcess,
  ) {
    this.connection = new SimulatedConnection(world, process);
    this.inbox = new SimulatedInbox(world, process);
  }

  async connect(): Promise<void> {}

  subscribe(_: string, listener: LockStoreListener): Promise<boolean> {
    return this.inbox.open(listener);
  }

  acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    const { connection, process, world } = this;
    return this.acquireSince(request, world.random.chance(0.8), connection.epoch, process.now(), world.timeline.now);
  }

  /** A command that is repeated without the counter keeps its start, its time limit and the epoch of its first copy. */
  private acquireSince(
    request: AcquireRequest,
    mayCount: boolean,
    epoch: number,
    startedAt: number,
    sentAt: number,
  ): Promise<AcquireAnswer> {
    const { connection, counter } = this;
    const counted = mayCount && COUNTING.has(request.kind) && counter.mayCount(epoch, startedAt);
    const what = `acquire ${request.ownerToken}${counted ? ' +' : ''}`;
    const { server } = this.world;
    const answered = this.ask(
      request,
      what,
      (deadlineMs) => server.acquire(request, counted, { deadlineMs, sentAt }),
      () => server.leavesAcquire(request),
      startedAt,
    );
    return answered.then(
      (given) => {
        const answer = connection.epoch === epoch ? given : { ...given, resent: true };
        if (answer.outcome !== 'granted') return answer;
        const sent = { counted, epoch, startedAt };
        if (counter.rises(sent, answer.fencingToken, request.block, connection.epoch)) return answer;
        return this.acquireSince(request, false, epoch, startedAt, sentAt);
      },
      (error: Error) => {
        counter.forget();
        throw error;
      },
    );
  }

  acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllAnswer> {
    const what = `acquire all ${requests.map(({ ownerToken }) => ownerToken).join(' ')}`;
    const { server, timeline } = this.world;
    const sentAt = timeline.now;
    const { connection } = this;
    const { epoch } = connection;
    return connection
      .askInTime<AcquireAllAnswer>(what, (deadlineMs) => server.acquireAll(requests, { deadlineMs, sentAt }))
      .then((answer) => ({ ...answer, resent: connection.epoch !== epoch }));
  }

  release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    const { epoch } = this.connection;
    const what = `release ${request.ownerToken} ${request.next?.ownerToken ?? (request.grantOwn ? 'own' : '')}`;
    const { server, timeline } = this.world;
    const sentAt = timeline.now;
    return this.ask(
      request,
      what,
      (deadlineMs) => server.release(request, { deadlineMs, sentAt }),
      () => server.leavesRelease(request),
    ).then((answer) => {
      if (answer.outcome === 'lost') return { ...answer, resent: this.connection.epoch !== epoch };
      // The reply of the Redis store does not contain it either.
      return answer.outcome === 'granted' && request.kind !== 'semaphore' ? { ...answer, waiting: 0 } : answer;
    });
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewAnswer[]> {
    const { gates } = this.world.ledger.turns;
    const warnings = requests.map(({ ownerToken }) => gates.warningsOf(ownerToken));
    return this.connection
      .ask<readonly RenewAnswer[]>(`renew ${requests.map(({ ownerToken }) => ownerToken).join(' ')}`, () =>
        requests.map((request) => this.world.server.renew(request)),
      )
      .then((answers) => {
        requests.forEach(({ ownerToken }, i) => answers[i] === 0 && gates.opened(ownerToken, warnings[i]));
        return answers;
      })
      .catch((error: Error) => requests.map(() => error));
  }

  downgrade(request: DowngradeRequest): Promise<RenewAnswer> {
    const { ownerToken, readToken } = request;
    return this.connection.ask<RenewAnswer>(`downgrade ${ownerToken} ${readToken}`, () =>
      this.world.server.downgrade(request),
    );
  }

  /** An attempt that the fast script delegates takes a second trip, within the time limit of one command. */
  private ask<T>(
    request: LockName,
    what: string,
    apply: (deadlineMs: number) => T | TooLate,
    leaves: () => boolean,
    calledAt = this.process.now(),
  ): Promise<T> {
    const { connection } = this;
    if (request.kind !== 'exclusive') return connection.askInTime(what, apply, calledAt);
    return connection
      .askInTime<T | undefined>(`${what} `, (deadlineMs) => (leaves() ? undefined : apply(deadlineMs)), calledAt)
      .then((answer) => answer ?? connection.askInTime(what, apply, calledAt));
  }

  async close(): Promise<void> {
    this.inbox.close();
  }
}
