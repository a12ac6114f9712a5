import { LockConfigurationError, LockKeyError } from '../errors.js';
import { faultOfValue, textOfValue } from './encode-key.js';
import {
  type BoundParameter,
  findRoot,
  type HandlerFacts,
  type KeyRoot,
  type RequestData,
  type RequestRoot,
} from './key-roots.js';

/** What surrounds a hole, for messages. */
export interface HolePlace {
  /** Class and method. */
  readonly method: string;
  /** The whole template. */
  readonly template: string;
}

/** A name in a path; anything else is more likely a slip than a property. */
const NAME = /^[^\s.[\]{}#]+$/;

/** One `#{path}` of a key template, ready to be filled from the arguments of a call. */
export class KeyHole {
  private readonly shown: string;
  private readonly from: KeyRoot;

  /** @throws LockConfigurationError when the path can never lead to a value */
  constructor(
    path: string,
    private readonly place: HolePlace,
    bound: readonly BoundParameter[],
  ) {
    this.shown = `#{${path}}`;
    const names = path.split('.');
    if (!names.every((name) => NAME.test(name))) {
      throw new LockConfigurationError(
        `${this.shown} is not a path: write names with dots between them, such as #{body.items.0.id}`,
      );
    }
    this.from = findRoot(names, this.shown, bound);
  }

  get source(): 'request' | 'code' {
    return this.from.source;
  }

  /** Position of the argument that it reads, if it reads one. */
  get argument(): number | undefined {
    return this.from.argument;
  }

  /** @throws LockConfigurationError when calls of this handler can never have its root */
  checkReadable(handler: HandlerFacts | undefined): void {
    const { transports, root, argument } = this.from;
    if (handler === undefined || transports === undefined) return;
    const without = handler.transports.find((transport) => !transports.includes(transport));
    if (without !== undefined) {
      throw new LockConfigurationError(
        `${this.shown} cannot be read, because a call by ${without} has no "${root}"; put the decorator on the methods, with keys of their own`,
      );
    }
    if (root === 'body' && argument === undefined && !handler.hasBody) {
      throw new LockConfigurationError(`${this.shown} cannot be read, because a GET request has no body`);
    }
  }

  /**
   * The hole's value as text, not yet encoded.
   * @throws LockKeyError when there is none, or it is no scalar
   */
  read(args: readonly unknown[], request: RequestData | undefined): string {
    return this.text(this.value(args, request));
  }

  /** A getter or a proxy may throw whatever it likes; the caller is promised a LockKeyError. */
  private value(args: readonly unknown[], request: RequestData | undefined): unknown {
    try {
      return this.follow(this.first(args, request));
    } catch (cause) {
      if (cause instanceof LockKeyError) throw cause;
      throw this.refusal('cannot be read, because reading it threw', this.source, cause);
    }
  }

  private follow(first: unknown): unknown {
    let value = first;
    for (const name of this.from.names) {
      // Own properties only: `constructor` or `__proto__` of a plain body must not pass for data.
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) {
        throw this.refusal(`has no value: "${name}" is not there (only own properties count)`);
      }
      value = (value as Record<string, unknown>)[name];
    }
    return value;
  }

  private text(value: unknown): string {
    const text = textOfValue(value);
    if (text === undefined) throw this.refusal(`is ${faultOfValue(value)}`);
    return text;
  }

  private first(args: readonly unknown[], request: RequestData | undefined): unknown {
    const { transports, argument, root } = this.from;
    if (transports !== undefined && request !== undefined && !transports.includes(request.transport)) {
      throw this.refusal(
        `cannot be read, because a call by ${request.transport} has no "${root}": write arg0. instead`,
        'code',
      );
    }
    if (argument !== undefined) return args[argument];
    if (request !== undefined) return request.read(root as RequestRoot);
    throw this.refusal(`cannot be read outside of a request: write arg0. instead of ${root}.`, 'code');
  }

  private refusal(what: string, source = this.source, cause?: unknown): LockKeyError {
    const { method, template } = this.place;
    const message = `${this.shown} in the lock key "${template}" of ${method} ${what}.`;
    return new LockKeyError(message, { method, source, path: this.shown.slice(2, -1), cause });
  }
}
