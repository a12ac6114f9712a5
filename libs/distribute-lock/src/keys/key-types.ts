/**
 * The faults of the key template `Text` on a method with the parameters `Given`: messages that name the placeholder, or `never`. The type
 * follows each path and enumerates nothing, so it is fast for parameters as large as a request.
 *
 * It finds fewer faults than the check at import. Decorators do not change types: nothing is known about `params`, `query`, `headers`,
 * `user` and `args`, and `body` and `data` may be any object among the parameters. Open type parameters of a generic class and strings
 * that are not literals are not checked. In one case it is stricter: beside a parameter that is an object, `@Body('channel')` is not
 * recognised as `#{body.channel}`; write `#{arg1}` with the index of the parameter.
 * @public
 */
export type KeyTemplateFault<Text extends string, Given extends readonly unknown[]> = string extends Text
  ? never
  : Text extends ''
    ? 'the key is empty'
    : Text extends `${string}\${${string}`
      ? 'placeholders are written #{path}, not ${path}'
      : Text extends `${infer Start}#{${infer Rest}`
        ? KeyBracesFault<Start> | KeyHolesFault<Rest, Given> | KeyColonFault<Text>
        : KeyBracesFault<Text> | KeyColonFault<Text>;

/** A placeholder without its `#` in a text between placeholders. @public */
export type KeyBracesFault<Text extends string> = Text extends `${string}{${infer Name}}${string}`
  ? Name extends '' | `${string}${' ' | '{'}${string}`
    ? never
    : `"{${Name}}" has no "#": write #{${Name}}`
  : never;

/** A character at the border of a placeholder as routes write it. @public */
export type KeyPartBorder = '_' | '-' | '/';

/** A placeholder as routes write it, such as `:id` between two borders. @public */
export type KeyColonFault<Text extends string> =
  `_${Text}_` extends `${string}${KeyPartBorder}:${infer Name}${KeyPartBorder}${string}`
    ? Name extends '' | `${string}${KeyPartBorder | ':' | ' ' | '.' | '#' | '{' | '}'}${string}` | `${number}${string}`
      ? never
      : `":${Name}" is not a placeholder: write a path such as #{params.${Name}}`
    : never;

/** The faults of a text that starts inside a placeholder. @public */
export type KeyHolesFault<
  Text extends string,
  Given extends readonly unknown[],
  Found = never,
> = Text extends `${infer Path}}${infer Rest}`
  ? Rest extends `${infer Between}#{${infer Next}`
    ? KeyHolesFault<
        Next,
        Given,
        Found | KeyHoleFault<Path, Given> | KeyBorderFault<Path, Between> | KeyBracesFault<Between>
      >
    : Found | KeyHoleFault<Path, Given> | KeyBracesFault<Rest>
  : Found | `#{${Text} is not closed by "}"`;

/** The faults of the text between two placeholders. @public */
export type KeyBorderFault<Path extends string, Between extends string> = Between extends ''
  ? `#{${Path}} needs a character between it and the next placeholder`
  : Between extends `${string}%${string}`
    ? `"%" is not allowed between #{${Path}} and the next placeholder`
    : never;

/** The faults of one placeholder. @public */
export type KeyHoleFault<Path extends string, Given extends readonly unknown[]> = Path extends `${string}?${string}`
  ? `#{${Path}} has no optional parts: remove "?"; a missing value is refused`
  : Path extends NoKeyPath
    ? `#{${Path}} is not a path: write names with dots between them, such as #{body.items.0.id}`
    : Path extends `${infer Root}.${infer Names}`
      ? Root extends 'params' | 'query' | 'headers' | 'user' | 'args'
        ? never
        : KeyRootFault<Path, Root, Names, Given>
      : Path extends 'user' | 'ip'
        ? never
        : KeyRootFault<Path, Path, null, Given>;

/** Paths that are not names with single dots between them. @public */
export type NoKeyPath = '' | `.${string}` | `${string}.` | `${string}${'..' | ' ' | '#' | '{' | '[' | ']'}${string}`;

/** The faults of a placeholder whose root refers to the parameters. @public */
export type KeyRootFault<
  Path extends string,
  Root extends string,
  Names extends string | null,
  Given extends readonly unknown[],
> = Root extends 'body' | 'data'
  ? KeyPathFault<Path, { [Index in keyof Given]-?: KeyBodyEnd<NonNullable<Given[Index]>, Root, Names> }[number]>
  : Root extends `arg${infer Index extends number}`
    ? number extends Given['length']
      ? KeyArgumentFault<Path, KeyPathEnd<Given[Index], Names>>
      : `${Index}` extends keyof Given
        ? KeyArgumentFault<Path, KeyPathEnd<Given[`${Index}`], Names>>
        : `#{${Path}} does not exist: the method has no ${Root}`
    : Root extends 'ip' | 'params' | 'query' | 'headers' | 'args'
      ? `#{${Path}} can never be a value`
      : `#{${Path}} begins with "${Root}", which is unknown: compilation removes the names of parameters, write "body." or "arg0."`;

/** One of several parameters has to fit, and none of them has to be the body. @public */
export type KeyPathFault<Path extends string, Seen> = [Seen] extends [never]
  ? never
  : 'found' extends Seen
    ? never
    : KeyArgumentFault<Path, Seen>;

/** A property that some members of a union lack is accepted, like an optional one; a property that some have as an object is not. @public */
export type KeyArgumentFault<Path extends string, Seen> = 'no scalar' extends Seen
  ? `#{${Path}} is not a string, number, bigint or boolean`
  : 'found' extends Seen
    ? never
    : `#{${Path}} is not in the parameters of the method`;

/** The end of a path if this parameter is the body, or an object with the body such as a request; `never` if it is neither. @public */
export type KeyBodyEnd<Given, Root extends string, Names extends string | null> = 0 extends 1 & Given
  ? 'found'
  : [Given] extends [(...args: never[]) => unknown]
    ? never
    : Root extends keyof Given
      ? KeyEndSeen<KeyPathEnd<Given, Names> | KeyPathEnd<Given[Root], Names>>
      : [Given] extends [NoKeyBody]
        ? never
        : [Given] extends [KeyScalar]
          ? Names extends null
            ? 'found'
            : never
          : KeyEndSeen<KeyPathEnd<Given, Names>>;

/** Combines the results of all members of a union. @public */
export type KeyEndSeen<Seen> = 'no scalar' extends Seen ? 'no scalar' : 'found' extends Seen ? 'found' : 'missing';

/** Other arguments of handlers: requests, responses, sockets, contexts and leases are not the body. @public */
export type NoKeyBody =
  | { emit(...args: never[]): unknown }
  | { send(...args: never[]): unknown }
  | { getArgs(...args: never[]): unknown }
  | { release(...args: never[]): unknown };

/**
 * The end of a path: one result for each member of every union on the path. `null` marks the end of the path and is tested first, because
 * without `strictNullChecks` it also extends string.
 * @public
 */
export type KeyPathEnd<From, Names extends string | null> = 0 extends 1 & From
  ? 'found'
  : unknown extends From
    ? 'found'
    : From extends null | undefined
      ? never
      : From extends KeyScalar
        ? Names extends null
          ? 'found'
          : 'missing'
        : Names extends null
          ? 'no scalar'
          : [keyof From] extends [never]
            ? 'found'
            : Names extends `${infer Name}.${infer Rest}`
              ? KeyPathEnd<KeyPathStep<From, Name>, Rest>
              : KeyPathEnd<KeyPathStep<From, Names & string>, null>;

/** The property with that name, or the element at that index. @public */
export type KeyPathStep<From, Name extends string> = Name extends keyof From
  ? From[Name]
  : Name extends `${infer Index extends number}`
    ? Index extends keyof From
      ? From[Index]
      : never
    : never;

/** Types allowed in a key. @public */
export type KeyScalar = string | number | bigint | boolean;
