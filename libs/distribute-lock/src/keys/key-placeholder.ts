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

/** The position of a placeholder, for messages. */
export interface PlaceholderSite {
  /** Class and method. */
  readonly method: string;
  /** The whole template. */
  readonly template: string;
}

/** A name in a path. Other characters are more likely a mistake than part of a name. */
const NAME = /^[^\s.[\]{}#?]+$/;

/**
 * Whether the name is an own property, or an accessor of a class, as in Mongoose documents. What every object has is no data:
 * `constructor`, `__proto__`, and all names of the last prototype, which is `Object.prototype`.
 */
function isData(value: object, name: string): boolean {
  if (Object.hasOwn(value, name)) return true;
  if (name === 'constructor' || name === '__proto__') return false;
  for (let at = prototypeOf(value), next; at !== null && (next = prototypeOf(at)) !== null; at = next) {
    const property = Object.getOwnPropertyDescriptor(at, name);
    if (property !== undefined) return property.get !== undefined;
  }
  return false;
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;

/** One `#{path}` placeholder of a key template, filled from the arguments of a call. */
export class KeyPlaceholder {
  private readonly shown: string;
  private readonly from: KeyRoot;

  /** @throws LockConfigurationError when the path can never resolve to a value */
  constructor(
    path: string,
    private readonly place: PlaceholderSite,
    bound: readonly BoundParameter[],
  ) {
    this.shown = `#{${path}}`;
    const names = path.split('.');
    if (path.includes('?')) {
      throw new LockConfigurationError(
        `${this.shown} has no optional parts, so remove "?": a missing value is refused, because it would join calls under one lock`,
      );
    }
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

  /** Index of the argument that it reads, if any. */
  get argument(): number | undefined {
    return this.from.argument;
  }

  /** @throws LockConfigurationError when calls of this handler never have its root */
  checkReadable(handler: HandlerFacts | undefined): void {
    const { transports, root, argument } = this.from;
    if (handler === undefined || transports === undefined) return;
    const without = handler.transports.find((transport) => !transports.includes(transport));
    if (without !== undefined) {
      throw new LockConfigurationError(
        `${this.shown} cannot be read, because a call by ${without} has no "${root}"; put the decorator on each method with its own key`,
      );
    }
    if (root === 'body' && argument === undefined && !handler.hasBody) {
      throw new LockConfigurationError(`${this.shown} cannot be read, because a GET request has no body`);
    }
  }

  /**
   * Returns the value as text, not yet encoded.
   * @throws LockKeyError when the value is missing or not a scalar
   */
  read(args: readonly unknown[], request: RequestData | undefined): string {
    return this.text(this.value(args, request));
  }

  /** Converts errors of getters and proxies to a LockKeyError. */
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
      if (typeof value !== 'object' || value === null || !isData(value, name)) {
        throw this.refusal(`has no value: "${name}" is neither an own property nor an accessor of a class`);
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
