import { LockError, type LockErrorDetails } from './lock.error.js';

/** What a {@link LockKeyError} carries. @public */
export interface LockKeyErrorDetails extends LockErrorDetails {
  /** Class and method, or the method of `LockService`. */
  readonly method: string;
  /** Where the unusable value came from: `request` answers 400 over HTTP, `code` 500. */
  readonly source: 'request' | 'code';
  /** The path that has no usable value, such as `body.channel`, where one hole of the template is to blame. */
  readonly path?: string;
}

/** The key is not usable, or cannot be made from the method's arguments. @public */
export class LockKeyError extends LockError {
  readonly code = 'LOCK_KEY';
  readonly method: string;
  readonly source: 'request' | 'code';
  /** The path in the template that has no usable value, such as `body.channel`. */
  readonly path: string | undefined;

  constructor(message: string, details: LockKeyErrorDetails) {
    super(message, details);
    this.method = details.method;
    this.source = details.source;
    this.path = details.path;
  }
}
