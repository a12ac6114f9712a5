import { LockStoreError } from '../lock-store.js';

/** Answers of a server that is starting, failing over or busy. */
const PASSING = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|NOREPLICAS|UNBLOCKED)\b/;
/** Every answer of a server begins with such a word. */
const ANSWER = /^[A-Z]{2,}[A-Z0-9]*\b/;

/** Codes of a certificate that is not accepted, or of a server that does not speak TLS: that does not get better by waiting. */
const TLS =
  /^(EPROTO|ERR_(TLS|SSL)_|CERT_|(DEPTH_ZERO_)?SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)|HOSTNAME_MISMATCH|INVALID_CA)/;

/** The error of a server's answer, given as its text. */
export function answerError(text: string): LockStoreError {
  return new LockStoreError(`Redis answered "${redacted(text)}".`, PASSING.test(text));
}

/** The lock was granted by the primary, which may lose it. Whoever waits asks again under the same token. */
export function tooFewReplicas(acknowledged: number): LockStoreError {
  const replicas = acknowledged === 1 ? '1 replica has' : `${acknowledged} replicas have`;
  const error = `Only ${replicas} acknowledged it in time, and option "durability" asks for more.`;
  return new LockStoreError(error, true, { replicas: acknowledged });
}

/**
 * What a client's error means for a caller. The error itself is not kept as a cause: clients hang the command with all
 * its arguments on it, owner tokens and passwords among them.
 */
export function storeError(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  if (hasNodeError(error)) return storeError(error.lastNodeError);
  const text = messageOf(error);
  if (ANSWER.test(text) && error instanceof Error && error.name === 'ReplyError') return answerError(text);
  return new LockStoreError(`Redis could not be asked: ${redacted(text)}.`, !TLS.test(codeOf(error)));
}

/** The same error for a command that was never written. */
export const neverSent = ({ message, passing }: LockStoreError): LockStoreError =>
  new LockStoreError(message, passing, { sent: false });

/** Whether the server has become a replica. */
export const isDemotion = (text: string): boolean => text.startsWith('READONLY');

/** Whether another node of the Cluster has to be asked, or the same one soon. */
export const isRedirection = (error: unknown): boolean => /^(MOVED|ASK|TRYAGAIN)\b/.test(messageOf(error));

/** The text of an error of a client or socket; `AggregateError` has its text inside. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}

/** The client of a Cluster says no more than that all nodes failed; this is what the last of them said. */
function hasNodeError(error: unknown): error is { lastNodeError: Error } {
  return error instanceof Error && 'lastNodeError' in error && error.lastNodeError instanceof Error;
}

/** Not by `instanceof`: Node's own errors are of another realm in a test runner. */
function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown } | undefined)?.code);
}

/** Without the credentials of URLs. */
export function redacted(text: string): string {
  return text.replace(/:\/\/[^@/\s]*@/g, '://***@').replace(/\.$/, '');
}
