import { LockConfigurationError } from '../errors.js';

/** One row of Nest's parameter table: the argument of the method that contains a part of the request. */
export interface BoundParameter {
  /** Nest's number for the part: body, query, ... */
  readonly paramtype: number;
  readonly index: number;
  /** Set by `@Body('channel')`: the argument contains this property only. */
  readonly property: string | undefined;
}

/** How requests reach a method. */
export interface HandlerFacts {
  readonly transports: readonly string[];
  /** False for routes whose requests have no body. */
  readonly hasBody: boolean;
}

/** The request during which a locked method was called. */
export interface RequestData {
  /** `http`, `rpc`, `ws` or `graphql`. */
  readonly transport: string;
  /** Returns a part of the request, before pipes. */
  read(root: RequestRoot): unknown;
}

/** The source of a placeholder's first value, and the names to look up in it. */
export interface KeyRoot {
  /** The origin of the value: an invalid value leads to status 400 (request) or 500 (code). */
  readonly source: 'request' | 'code';
  /** Transports with this root; `undefined` for arguments, which every call has. */
  readonly transports: readonly string[] | undefined;
  /** Index of the argument with the value; without one, it is read from the request. */
  readonly argument: number | undefined;
  readonly root: string;
  readonly names: readonly string[];
}

interface RootFacts {
  readonly transports: readonly string[];
  readonly paramtype?: number;
}

/**
 * Nest numbers parameters per transport: 3 is the payload of every transport, but 6 is the headers of HTTP and the context of RPC.
 * Therefore a root also names its transports.
 */
const REQUEST_ROOTS = {
  body: { transports: ['http'], paramtype: 3 },
  query: { transports: ['http'], paramtype: 4 },
  params: { transports: ['http'], paramtype: 5 },
  headers: { transports: ['http'], paramtype: 6 },
  ip: { transports: ['http'], paramtype: 11 },
  user: { transports: ['http'] },
  data: { transports: ['rpc', 'ws'], paramtype: 3 },
  args: { transports: ['graphql'], paramtype: 3 },
} as const satisfies Record<string, RootFacts>;

/** @see {@link KeyRoot} */
export type RequestRoot = keyof typeof REQUEST_ROOTS;

const ARGUMENT = /^arg(0|[1-9]\d{0,2})$/;

/**
 * Finds the root of a placeholder.
 * @param path - the path of the placeholder, split at the dots
 * @throws LockConfigurationError when the root is unknown
 */
export function findRoot(path: readonly string[], placeholder: string, bound: readonly BoundParameter[]): KeyRoot {
  const [root = '', ...names] = path;
  const position = ARGUMENT.exec(root)?.[1];
  if (position !== undefined) return argumentRoot(root, Number(position), names, bound);
  if (Object.hasOwn(REQUEST_ROOTS, root)) return requestRoot(root as RequestRoot, names, bound);
  throw new LockConfigurationError(
    `${placeholder} begins with "${root}", which is unknown. Compilation removes the names of parameters: ` +
      `write "body." or "arg0." instead, or begin with one of ${Object.keys(REQUEST_ROOTS).join(', ')}, arg0, arg1, ...`,
  );
}

function argumentRoot(
  root: string,
  index: number,
  names: readonly string[],
  bound: readonly BoundParameter[],
): KeyRoot {
  const carriesRequest = bound.some(
    (parameter) => parameter.index === index && isRequestParamtype(parameter.paramtype),
  );
  return { source: carriesRequest ? 'request' : 'code', transports: undefined, argument: index, root, names };
}

function requestRoot(root: RequestRoot, given: readonly string[], bound: readonly BoundParameter[]): KeyRoot {
  const { transports, paramtype }: RootFacts = REQUEST_ROOTS[root];
  // Node converts names of headers to lower case.
  const names = root === 'headers' ? given.map((name) => name.toLowerCase()) : given;
  const ofType = bound.filter((parameter) => parameter.paramtype === paramtype);
  // `@Body('channel')` has its own pipes, so it is closer to the method's input than `@Body()`.
  const property = ofType.find((parameter) => names.length > 0 && nameOf(root, parameter) === names[0]);
  const whole = ofType.find((parameter) => parameter.property === undefined);
  const argument = (property ?? whole)?.index;
  return { source: 'request', transports, argument, root, names: property === undefined ? names : names.slice(1) };
}

function nameOf(root: RequestRoot, { property }: BoundParameter): string | undefined {
  return root === 'headers' ? property?.toLowerCase() : property;
}

function isRequestParamtype(paramtype: number): boolean {
  return Object.values<RootFacts>(REQUEST_ROOTS).some((facts) => facts.paramtype === paramtype);
}
