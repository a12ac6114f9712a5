import { LockConfigurationError, LockKeyError } from '../errors.js';
import { hasLoneSurrogate, keyFault, MAX_KEY_BYTES } from './check-key.js';
import { encodeWith, faultBetween, reservedCharacters } from './encode-key.js';
import { KeyPlaceholder } from './key-placeholder.js';
import type { BoundParameter, HandlerFacts, RequestData } from './key-roots.js';

/** The method of a key. */
export interface KeySite {
  /** Class and method, for messages. */
  readonly method: string;
  /** Nest's parameter table of the method. */
  readonly bound: readonly BoundParameter[];
  /** Number of declared parameters, if known for certain. */
  readonly parameters: number | undefined;
  /** How requests reach the method, if known. */
  readonly handler?: HandlerFacts | undefined;
  /**
   * Called once per template, when a value is encoded for the first time: the key then differs from that of a program which inserts the
   * value as it is.
   */
  readonly onEncoded?: ((method: string, template: string, characters: string) => void) | undefined;
}

/**
 * A lock key with `#{path}` placeholders, parsed once. Values with different texts produce different keys, because `encode-key.ts` encodes
 * a character of each separator.
 */
export class KeyTemplate {
  private encoded = false;

  private constructor(
    readonly text: string,
    /** Paths of the placeholders. */
    readonly paths: readonly string[],
    private readonly site: KeySite,
    /** One more than there are placeholders. */
    private readonly literals: readonly string[],
    private readonly placeholders: readonly KeyPlaceholder[],
    private readonly reserved: RegExp,
  ) {}

  /** @throws LockConfigurationError naming the method, when the template can never produce a key */
  static parse(text: string, site: KeySite): KeyTemplate {
    try {
      const { literals, paths } = split(text);
      checkLiterals(text, literals);
      const placeholders = paths.map(
        (path) => new KeyPlaceholder(path, { method: site.method, template: text }, site.bound),
      );
      checkArguments(placeholders, site);
      for (const placeholder of placeholders) placeholder.checkReadable(site.handler);
      return new KeyTemplate(text, paths, site, literals, placeholders, reservedCharacters(literals));
    } catch (error) {
      if (!(error instanceof LockConfigurationError)) throw error;
      throw new LockConfigurationError(`The lock key "${text}" of ${site.method} is malformed: ${error.message}.`);
    }
  }

  /** @throws LockKeyError when the arguments do not produce a valid key */
  render(args: readonly unknown[], request: RequestData | undefined): string {
    let key = this.literals[0] ?? '';
    for (let index = 0; index < this.placeholders.length; index += 1) {
      const value = this.placeholders[index]?.read(args, request) ?? '';
      // Check the length first: encoding and joining huge values could exceed the maximum length of a string.
      if (value.length > MAX_KEY_BYTES) throw this.refusal(keyFault(value) ?? '', value, request);
      const text = encodeWith(this.reserved, value);
      if (!this.encoded && text !== value) this.reportEncoded(value);
      key += text + this.literals[index + 1];
    }
    const fault = keyFault(key);
    if (fault !== undefined) throw this.refusal(fault, key, request);
    return key;
  }

  private reportEncoded(value: string): void {
    this.encoded = true;
    this.site.onEncoded?.(this.site.method, this.text, [...new Set(value.match(this.reserved))].join(' '));
  }

  /** Within a request, its data made the key invalid, even if they come from an argument. */
  private refusal(fault: string, key: string, request: RequestData | undefined): LockKeyError {
    const source = request === undefined ? 'code' : 'request';
    const { method } = this.site;
    return new LockKeyError(`The lock key "${this.text}" of ${method} is invalid after rendering: it ${fault}.`, {
      method,
      source,
      key,
    });
  }
}

function split(text: string): { literals: string[]; paths: string[] } {
  const [first = '', ...rest] = text.split('#{');
  const literals = [first];
  const paths: string[] = [];
  for (const part of rest) {
    const end = part.indexOf('}');
    if (end < 0) throw new LockConfigurationError('a "#{" is not closed by "}"');
    if (end === 0) throw new LockConfigurationError('a placeholder is empty: #{}');
    paths.push(part.slice(0, end));
    literals.push(part.slice(end + 1));
  }
  return { literals, paths };
}

/** A placeholder without its `#`. */
const BRACES = /\{[^\s{}]+\}/;
/** A placeholder as routes write it. */
const COLON = /(?:^|[-_/])(:[a-z$][\w$]*?)(?=[-_/]|$)/i;

function checkLiterals(text: string, literals: readonly string[]): void {
  const fault = literals.length === 1 ? keyFault(text) : keyFault(`-${literals.join('')}`);
  if (fault !== undefined) throw new LockConfigurationError(`it ${fault}`);
  // Check each literal: a pair split by a placeholder is not a pair in the key.
  if (literals.some(hasLoneSurrogate)) throw new LockConfigurationError('it contains a lone surrogate');
  if (text.includes('${')) throw new LockConfigurationError('placeholders are written #{path}, not ${path}');
  // A space is neither a border nor part of a name.
  const constant = literals.join(' ');
  const braces = BRACES.exec(constant)?.[0];
  if (braces !== undefined) {
    throw new LockConfigurationError(
      `"${braces}" has no "#"; write "#${braces}", or a function such as () => 'orders:{eu}' for a constant tag`,
    );
  }
  const colon = COLON.exec(constant)?.[1];
  if (colon !== undefined) {
    throw new LockConfigurationError(
      `"${colon}" is not a placeholder; write a path such as "#{params.${colon.slice(1)}}"`,
    );
  }
  const between = faultBetween(literals);
  if (between !== undefined) throw new LockConfigurationError(between);
}

function checkArguments(placeholders: readonly KeyPlaceholder[], { parameters }: KeySite): void {
  if (parameters === undefined) return;
  for (const { argument } of placeholders) {
    if (argument !== undefined && argument >= parameters) {
      throw new LockConfigurationError(`it uses arg${argument}, but the method has ${parameters} parameter(s)`);
    }
  }
}
