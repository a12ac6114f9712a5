import { LockStoreError } from '../lock-store.js';
import type { RedisClient } from './redis-client.js';
import { isSortedSet } from './redis-keys.js';
import type { Clock } from '../../runtime/clock.js';

/** The first word of an error reply. */
const ANSWER = /^[A-Z]{2,}[A-Z0-9]*\b/;

/** Redis before version 7 writes the error of a command inside a script behind this text. */
const IN_SCRIPT = /^ERR Error running script \(call to \w+\): (@user_script: ?\d+: )*-?/;
/** Error replies of a server that does not offer a command, to any user or to this one. */
const LACKING =
  /^(NOPERM\b|(ERR )?(unknown (redis )?command|.*\bnot (allowed|supported|permitted)\b|ACL failure|the user executing the script can't run))/i;
/**
 * Error replies that stay the same until an operator or the application acts: wrong credentials, an unusable key, a full
 * server. Every other reply may differ the next time, also one that this library does not know.
 */
const LASTING =
  /^(NOAUTH|WRONGPASS|DENIED|NOPROTO|WRONGTYPE|CROSSSLOT|OOM|ERR (invalid password|AUTH <password> called|Client sent AUTH|(invalid )?DB index|Error compiling script))\b/i;

/** What needs the command. */
const NEEDS: readonly (readonly [command: RegExp, advice: string])[] = [
  [/\beval(sha)?\b/i, 'Every lock needs scripts: use a server that allows EVAL and EVALSHA.'],
  [/\bwait\b/i, 'Option "durability" needs WAIT: use a server that allows it, or remove the option.'],
];

/** Codes of a rejected certificate or of a server without TLS. A retry does not help. */
const TLS =
  /^(EPROTO|ERR_(TLS|SSL)_|CERT_|(DEPTH_ZERO_)?SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)|HOSTNAME_MISMATCH|INVALID_CA)/;

/** Converts the text of an error reply into an error. */
export function answerError(text: string, server = 'Redis'): LockStoreError {
  const bare = bareText(text);
  const lacks = LACKING.test(bare);
  const advice = lacks ? NEEDS.find(([command]) => command.test(text))?.[1] : undefined;
  const failed = `${server} request failed: ${redacted(text)}.`;
  const passing = !lacks && !LASTING.test(bare);
  return new LockStoreError(advice === undefined ? failed : `${failed} ${advice}`, passing);
}

/**
 * The error of an acquire whose writes too few replicas have, so that a failover may lose a grant. Waiters retry with the
 * same token.
 */
export function tooFewReplicas(acknowledged: number): LockStoreError {
  const replicas = acknowledged === 1 ? '1 replica' : `${acknowledged} replicas`;
  const error = `Only ${replicas} acknowledged the lock in time; option "durability" requires more.`;
  return new LockStoreError(error, true, { replicas: acknowledged });
}

/**
 * Converts an error of the client. The error itself is not kept as a cause: clients attach the command with all its
 * arguments, including owner tokens and passwords.
 * @param server - kind and address of the server, for the message
 */
export function storeError(error: unknown, server = 'Redis'): LockStoreError {
  if (error instanceof LockStoreError) return error;
  if (hasNodeError(error)) return storeError(error.lastNodeError, server);
  const text = messageOf(error);
  if (ANSWER.test(text) && error instanceof Error && error.name === 'ReplyError') return answerError(text, server);
  return new LockStoreError(`${server} request failed: ${redacted(text)}.`, !TLS.test(codeOf(error)));
}

/** The same error, for a command that was not sent. */
export const neverSent = ({ message, passing }: LockStoreError): LockStoreError =>
  new LockStoreError(message, passing, { sent: false });

/** Whether the server has become a replica. */
export const isDemotion = (text: string): boolean => bareText(text).startsWith('READONLY');

/** Whether the command must be sent to another Cluster node, or to the same one again. */
export const isRedirection = (error: unknown): boolean => /^(MOVED|ASK|TRYAGAIN)\b/.test(messageOf(error));

/** The text of a client or socket error. The text of an `AggregateError` is in its inner errors. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}

/** The Cluster client reports only that all nodes failed; this is the error of the last node. */
function hasNodeError(error: unknown): error is { lastNodeError: Error } {
  return error instanceof Error && 'lastNodeError' in error && error.lastNodeError instanceof Error;
}

/** Avoids `instanceof`, because errors of Node belong to another realm in a test runner. */
function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown } | undefined)?.code);
}

const bareText = (text: string): string => text.replace(IN_SCRIPT, '');

/** Removes the credentials of URLs from a text. */
export function redacted(text: string): string {
  return text.replace(/:\/\/[^@/\s]*@/g, '://***@').replace(/\.$/, '');
}

/** Whether the server does not know the script, so that its text must be sent. */
export const isUnknownScript = (error: unknown): boolean => messageOf(error).startsWith('NOSCRIPT');

/**
 * The error of a command without an answer.
 * @param trouble - what else is known about the connection, from ` (` on
 * @param sent - whether the command may have reached the server
 */
export const noAnswer = (limitMs: number, trouble = '', sent = true): LockStoreError =>
  new LockStoreError(`Redis did not respond within ${limitMs} ms${trouble}.`, true, { sent });

export const isWrongType = (error: Error): boolean => error.message.includes('WRONGTYPE');

/** Adds the names of the keys that hold a value of another type. Each key is read to find out. */
export async function namingKeys(error: Error, keys: readonly string[], client: RedisClient): Promise<Error> {
  const wrong = await Promise.all(
    [...new Set(keys)].map(async (key) => {
      try {
        await (isSortedSet(key) ? client.zcard(key) : client.get(key));
        return undefined;
      } catch (refused) {
        return String(refused).includes('WRONGTYPE') ? JSON.stringify(redacted(key)) : undefined;
      }
    }),
  );
  const names = wrong.filter((name) => name !== undefined).join(', ');
  if (names === '') return error;
  const message = `A key of this library holds a value of another type. Delete ${names}. ${error.message}`;
  return new LockStoreError(message, false);
}

/** Limits the time for an answer, because the client waits without a limit. Rejects with a {@link LockStoreError}. */
export function inTime<T>(answer: Promise<T>, limitMs: number, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = (): void => reject(noAnswer(limitMs));
    // Answers that arrived while the event loop was blocked are processed first.
    const cancel = clock.after(limitMs, () => clock.nextTurn(expire));
    answer.then(resolve, (error: unknown) => reject(storeError(error))).finally(cancel);
  });
}

/** A Redis status such as OK or QUEUED. Other text may contain secrets. */
const STATUS = /^[A-Z]{1,16}$/;

/**
 * The error of a reply that no script of this library sends, for example `QUEUED` to a client inside `MULTI`. The
 * command may have taken effect, so it is undone. The message contains no owner token.
 */
export function unknownReply(reply: unknown): LockStoreError {
  return new LockStoreError(`Redis gave a reply that this library does not know: ${shown(reply)}.`, true);
}

function shown(reply: unknown): string {
  if (reply === null || reply === undefined) return 'nothing';
  if (typeof reply === 'number') return `the number ${reply}`;
  if (typeof reply === 'string') return STATUS.test(reply) ? `"${reply}"` : `a text of ${reply.length} characters`;
  if (!Array.isArray(reply)) return `a value of the type ${typeof reply}`;
  const code: unknown = reply[0];
  return `a list of ${reply.length} values${typeof code === 'number' ? ` with the code ${code}` : ''}`;
}
