import { LockUnavailableError } from '../errors.js';
import type { LeaseHandle } from './lease/lease-handle.js';
import { isLost, LockStoreError, lossOfAnswer, mayTakeEffect } from '../store/lock-store.js';
import type { EngineContext } from './context.js';

/** Extends a held lease; see `Lease.extend`. */
export async function extendLease(
  { store, clock, watchdog }: EngineContext,
  lease: LeaseHandle,
  requestedMs: number,
): Promise<void> {
  const { grant, key, call } = lease;
  const sentAt = clock.now();
  const { ownerToken, kind } = grant;
  const ttlMs = Math.min(requestedMs, Math.max(1, Math.floor(lease.renewUntil - sentAt)));
  const [answer] = await store.renew([{ key, ownerToken, kind, ttlMs }]).catch((error: Error) => [error]);
  if (typeof answer === 'number' && lease.isProven()) {
    // An earlier command that shortens the shared lease has no reply and may still be executed.
    if (grant.mostMs < ttlMs) throw unconfirmed(call.name, key, notProven());
    lease.extendedTo(ttlMs, sentAt);
    watchdog.confirm(grant, sentAt, ttlMs);
    return;
  }
  if (answer instanceof Error ? mayTakeEffect(answer) : !isLost(answer)) watchdog.shortenAgain(grant);
  if (answer instanceof Error && lease.isProven()) throw unconfirmed(call.name, key, answer);
  // The grant of a released lease may serve the next caller, so it must not end here.
  if (!lease.ended) {
    if (isLost(answer)) watchdog.lose(grant, lossOfAnswer(answer));
    // Other readers may share the grant.
    else lease.endOverdue();
  }
  throw lease.signal.reason ?? lease.lostError('it was released before the extension was confirmed', 'released');
}

const notProven = (): Error => new LockStoreError('A command that may shorten the lease has no reply yet.', true);

function unconfirmed(name: string, key: string, cause: Error): LockUnavailableError {
  return new LockUnavailableError(
    `The lease of "${name}" could not be extended because its store failed: ${cause.message} The lease is unchanged.`,
    { key, cause },
  );
}
