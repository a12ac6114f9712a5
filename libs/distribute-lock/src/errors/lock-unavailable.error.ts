import { LockError, type LockErrorDetails } from './lock.error.js';

/** How the nodes of a quorum voted. @public */
export interface LockVotes {
  /** Nodes of the quorum. */
  readonly nodes: number;
  /** More than half of them. */
  readonly needed: number;
  /** For the caller. */
  readonly granted: number;
  /** For somebody else. */
  readonly refused: number;
  /** Not at all: they failed, or did not answer in time. */
  readonly failed: number;
}

/** What a {@link LockUnavailableError} carries. @public */
export interface LockUnavailableErrorDetails extends LockErrorDetails {
  /** How the nodes voted, where locks live on a quorum. */
  readonly votes?: LockVotes | undefined;
  /** A guess, in milliseconds, of when it is worth trying again. */
  readonly retryAfterMs?: number;
  /** How many replicas acknowledged the grant in time, where option `durability` asks for more. */
  readonly replicas?: number | undefined;
}

/** Redis failed, refused or did not answer, or a limit of this process is reached; nobody is known to hold the lock. @public */
export class LockUnavailableError extends LockError {
  readonly code = 'LOCK_UNAVAILABLE';
  readonly retryAfterMs: number;
  /** How the nodes voted, where locks live on a quorum. */
  readonly votes: LockVotes | undefined;
  /** How many replicas acknowledged the grant in time, where option `durability` asks for more. */
  readonly replicas: number | undefined;

  constructor(message: string, details: LockUnavailableErrorDetails = {}) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs ?? 1000;
    this.votes = details.votes;
    this.replicas = details.replicas;
  }
}
