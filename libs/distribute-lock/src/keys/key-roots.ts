import { LockConfigurationError } from '../errors.js';

/** One row of Nest's parameter table: which argument of the method carries which part of the request. */
export interface BoundParameter {
  /** Nest's number for the part: body, query, ... */
  readonly kind: number;
  readonly index: number;
  /** Set by `@Body('channel')`: the argument is that property only. */
  readonly property: string | undefined;
}

/** How requests reach a method. */
export interface HandlerFacts {
  readonly transports: readonly string[];
  /** False for routes whose requests carry none. */
  readonly hasBody: boolean;
}

/** The request during which a locked method was called. */
export interface RequestData {
  /** How it came: `http`, `rpc`, `ws`, `graphql`. */
  readonly transport: string;
  /** The part as it arrived, before pipes. */
  read(root: RequestRoot): unknown;
}

/** Where a hole finds its first value; the names that are left are looked up in it. */
export interface KeyRoot {
  /** Who gave the value: the request (400) or the code (500). */
  readonly source: 'request' | 'code';
  /** Transports that have this root; `undefined` for arguments, which every call has. */
  readonly transports: readonly string[] | undefined;
  /** Position of the argument that carries it; the request itself is asked when no argument does. */
  readonly argument: number | undefined;
  readonly root: string;
  readonly names: readonly string[];
}

interface RootFacts {
  readonly transports: readonly string[];
  readonly kind?: number;
}

/**
 * Nest numbers parameters per transport, and 3 is the payload of each. 6 is the headers of HTTP but the context of
 * RPC, which is why a root also names its transports.
 */
const REQUEST_ROOTS = {
  body: { transports: ['http'], kind: 3 },
  query: { transports: ['http'], kind: 4 },
  params: { transports: ['http'], kind: 5 },
  headers: { transports: ['http'], kind: 6 },
  ip: { transports: ['http'], kind: 11 },
  user: { transports: ['http'] },
  data: { transports: ['rpc', 'ws'], kind: 3 },
  args: { transports: ['graphql'], kind: 3 },
} as const satisfies Record<string, RootFacts>;

/** @see {@link KeyRoot} */
export type RequestRoot = keyof typeof REQUEST_ROOTS;

const ARGUMENT = /^arg(0|[1-9]\d{0,2})$/;

/**
 * Finds where the values of a hole will come from.
 * @param path - the hole's path, split at the dots
 * @throws LockConfigurationError when no such root exists
 */
export function findRoot(path: readonly string[], hole: string, bound: readonly BoundParameter[]): KeyRoot {
  const [root = '', ...names] = path;
  const position = ARGUMENT.exec(root)?.[1];
  if (position !== undefined) return argumentRoot(root, Number(position), names, bound);
  if (Object.hasOwn(REQUEST_ROOTS, root)) return requestRoot(root as RequestRoot, names, bound);
  throw new LockConfigurationError(
    `${hole} begins with "${root}", which is not known here. Names of parameters do not survive compilation: ` +
      `write "body." or "arg0." instead, or begin with one of ${Object.keys(REQUEST_ROOTS).join(', ')}, arg0, arg1, ...`,
  );
}

function argumentRoot(
  root: string,
  index: number,
  names: readonly string[],
  bound: readonly BoundParameter[],
): KeyRoot {
  const carriesRequest = bound.some((parameter) => parameter.index === index && isRequestKind(parameter.kind));
  return { source: carriesRequest ? 'request' : 'code', transports: undefined, argument: index, root, names };
}

function requestRoot(root: RequestRoot, given: readonly string[], bound: readonly BoundParameter[]): KeyRoot {
  const { transports, kind }: RootFacts = REQUEST_ROOTS[root];
  // Node hands headers out in lower case, however they were sent.
  const names = root === 'headers' ? given.map((name) => name.toLowerCase()) : given;
  const ofKind = bound.filter((parameter) => parameter.kind === kind);
  // `@Body('channel')` went through pipes of its own, so it is nearer to what the method sees than `@Body()`.
  const property = ofKind.find((parameter) => names.length > 0 && nameOf(root, parameter) === names[0]);
  const whole = ofKind.find((parameter) => parameter.property === undefined);
  const argument = (property ?? whole)?.index;
  return { source: 'request', transports, argument, root, names: property === undefined ? names : names.slice(1) };
}

function nameOf(root: RequestRoot, { property }: BoundParameter): string | undefined {
  return root === 'headers' ? property?.toLowerCase() : property;
}

function isRequestKind(kind: number): boolean {
  return Object.values<RootFacts>(REQUEST_ROOTS).some((facts) => facts.kind === kind);
}
