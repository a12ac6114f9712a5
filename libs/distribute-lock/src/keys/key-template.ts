import { LockConfigurationError, LockKeyError } from '../errors.js';
import { hasLoneSurrogate, keyFault, MAX_KEY_BYTES } from './check-key.js';
import { encodeWith, faultBetween, reservedCharacters } from './encode-key.js';
import { KeyHole } from './key-hole.js';
import type { BoundParameter, HandlerFacts, RequestData } from './key-roots.js';

/** The method that a key belongs to. */
export interface KeySite {
  /** Class and method, for messages. */
  readonly method: string;
  /** Nest's parameter table of the method. */
  readonly bound: readonly BoundParameter[];
  /** How many parameters the method declares, where that is known for certain. */
  readonly parameters: number | undefined;
  /** How the method is called, where that is known. */
  readonly handler?: HandlerFacts | undefined;
}

/**
 * A lock key with `#{path}` holes, parsed once.
 *
 * Values with different texts make different keys: `encode-key.ts` says which characters of a value are percent-encoded.
 */
export class KeyTemplate {
  private constructor(
    readonly text: string,
    private readonly site: KeySite,
    /** Always one more than there are holes. */
    private readonly literals: readonly string[],
    private readonly holes: readonly KeyHole[],
    private readonly reserved: RegExp,
  ) {}

  /** @throws LockConfigurationError naming the method, when the template can never make a key */
  static parse(text: string, site: KeySite): KeyTemplate {
    try {
      const { literals, paths } = split(text);
      checkLiterals(text, literals);
      const holes = paths.map((path) => new KeyHole(path, { method: site.method, template: text }, site.bound));
      checkArguments(holes, site);
      for (const hole of holes) hole.checkReadable(site.handler);
      return new KeyTemplate(text, site, literals, holes, reservedCharacters(literals));
    } catch (error) {
      if (!(error instanceof LockConfigurationError)) throw error;
      throw new LockConfigurationError(`The lock key "${text}" of ${site.method} is malformed: ${error.message}.`);
    }
  }

  /** @throws LockKeyError when the arguments do not make a usable key */
  render(args: readonly unknown[], request: RequestData | undefined): string {
    let key = this.literals[0] ?? '';
    for (let index = 0; index < this.holes.length; index += 1) {
      const value = this.holes[index]?.read(args, request) ?? '';
      // Measured before it is encoded, and not added to others: a text can be as long as no text may become.
      if (value.length > MAX_KEY_BYTES) throw this.refusal(keyFault(value) ?? '', value, request);
      key += encodeWith(this.reserved, value) + this.literals[index + 1];
    }
    const fault = keyFault(key);
    if (fault !== undefined) throw this.refusal(fault, key, request);
    return key;
  }

  /** Within a request its data made the key unusable, also where an argument carries them. */
  private refusal(fault: string, key: string, request: RequestData | undefined): LockKeyError {
    const source = request === undefined ? 'code' : 'request';
    const { method } = this.site;
    return new LockKeyError(`The lock key "${this.text}" of ${method}, filled in, ${fault}.`, { method, source, key });
  }
}

function split(text: string): { literals: string[]; paths: string[] } {
  const [first = '', ...rest] = text.split('#{');
  const literals = [first];
  const paths: string[] = [];
  for (const part of rest) {
    const end = part.indexOf('}');
    if (end < 0) throw new LockConfigurationError('a "#{" is not closed by "}"');
    if (end === 0) throw new LockConfigurationError('a hole is empty: #{}');
    paths.push(part.slice(0, end));
    literals.push(part.slice(end + 1));
  }
  return { literals, paths };
}

function checkLiterals(text: string, literals: readonly string[]): void {
  const fault = literals.length === 1 ? keyFault(text) : keyFault(`-${literals.join('')}`);
  if (fault !== undefined) throw new LockConfigurationError(`it ${fault}`);
  // Each for itself: the halves that two literals end and begin with are no pair, because a value will stand between.
  if (literals.some(hasLoneSurrogate)) throw new LockConfigurationError('it contains half a surrogate pair');
  if (text.includes('${')) throw new LockConfigurationError('holes are written #{path}, not ${path}');
  const between = faultBetween(literals);
  if (between !== undefined) throw new LockConfigurationError(between);
}

function checkArguments(holes: readonly KeyHole[], { parameters }: KeySite): void {
  if (parameters === undefined) return;
  for (const { argument } of holes) {
    if (argument !== undefined && argument >= parameters) {
      throw new LockConfigurationError(`it asks for arg${argument}, but the method has ${parameters} parameter(s)`);
    }
  }
}
