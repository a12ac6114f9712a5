import type { AcquireAnswer, ReleaseAnswer, RenewAnswer } from '../lock-store.js';
import type { Reply } from './command-batch.js';

/** Codes of the script's replies; its header says what they mean. */
const GRANTED = 1;
const QUEUED = 2;
const FREE = 4;
const LOST = 6;
const GRANTED_OWN = 8;

export function acquireAnswer([code, x, y]: Reply): AcquireAnswer {
  if (code === GRANTED) return { outcome: 'granted', fencingToken: Number(x), waiting: Number(y) };
  return { outcome: code === QUEUED ? 'queued' : 'busy', remainingMs: Number(x), foreign: y === 1 };
}

/** @param resent - the connection changed between command and answer */
export function releaseAnswer([code, x, y]: Reply, resent: boolean): ReleaseAnswer {
  if (code === FREE) return { outcome: 'free' };
  if (code === LOST) return { outcome: 'lost', resent };
  if (code === QUEUED) return { outcome: 'queued', remainingMs: Number(x) };
  if (code === GRANTED_OWN) return { outcome: 'granted', ownerToken: String(y), fencingToken: Number(x), waiting: 0 };
  return { outcome: 'passed' };
}

export function renewAnswer([code, x]: Reply): RenewAnswer {
  return code === LOST ? 'lost' : Number(x);
}
