/**
 * What is wrong with the key template `Text` on a method with the parameters `Given`: messages that name the hole, or
 * `never`. It walks along each path and lists nothing, so it stays quick on parameters as large as a request.
 *
 * It says less than the run time. Decorators do not change types: of `params`, `query`, `headers`, `user` and `args`
 * nothing is known, and `body` and `data` may be any object among the parameters. What a generic class leaves open, and a
 * text that is not a literal, is not checked. In one case it says more: beside a parameter that is an object,
 * `@Body('channel')` is not seen to be `#{body.channel}`; write `#{arg1}`, the position of the parameter.
 * @public
 */
export type KeyTemplateFault<Text extends string, Given extends readonly unknown[]> = string extends Text
  ? never
  : Text extends ''
    ? 'the key is empty'
    : Text extends `${string}\${${string}`
      ? 'holes are written #{path}, not ${path}'
      : Text extends `${string}#{${infer Rest}`
        ? KeyHolesFault<Rest, Given>
        : never;

/** The same of a text that begins inside a hole. @public */
export type KeyHolesFault<
  Text extends string,
  Given extends readonly unknown[],
  Found = never,
> = Text extends `${infer Path}}${infer Rest}`
  ? Rest extends `${infer Between}#{${infer Next}`
    ? KeyHolesFault<Next, Given, Found | KeyHoleFault<Path, Given> | KeyBorderFault<Path, Between>>
    : Found | KeyHoleFault<Path, Given>
  : Found | `#{${Text} is not closed by "}"`;

/** The same of the text between two holes. @public */
export type KeyBorderFault<Path extends string, Between extends string> = Between extends ''
  ? `#{${Path}} needs a character between it and the next hole`
  : Between extends `${string}%${string}`
    ? `"%" cannot stand between #{${Path}} and the next hole`
    : never;

/** The same of one hole. @public */
export type KeyHoleFault<Path extends string, Given extends readonly unknown[]> = Path extends NoKeyPath
  ? `#{${Path}} is not a path: write names with dots between them, such as #{body.items.0.id}`
  : Path extends `${infer Root}.${infer Names}`
    ? Root extends 'params' | 'query' | 'headers' | 'user' | 'args'
      ? never
      : KeyRootFault<Path, Root, Names, Given>
    : Path extends 'user' | 'ip'
      ? never
      : KeyRootFault<Path, Path, null, Given>;

/** Anything but names with single dots between them. @public */
export type NoKeyPath = '' | `.${string}` | `${string}.` | `${string}${'..' | ' ' | '#' | '{' | '[' | ']'}${string}`;

/** The same of a hole whose root says something about the parameters. @public */
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
        : `#{${Path}} is not there: the method has no ${Root}`
    : Root extends 'ip' | 'params' | 'query' | 'headers' | 'args'
      ? `#{${Path}} can never be a value`
      : `#{${Path}} begins with "${Root}", which is not known: names of parameters do not survive compilation, write "body." or "arg0."`;

/** Of several parameters it is enough that one fits, and none of them need be the body. @public */
export type KeyPathFault<Path extends string, Seen> = [Seen] extends [never]
  ? never
  : 'found' extends Seen
    ? never
    : KeyArgumentFault<Path, Seen>;

/** A property that some members of a union lack is like an optional one; one that some have as an object is not. @public */
export type KeyArgumentFault<Path extends string, Seen> = 'no scalar' extends Seen
  ? `#{${Path}} is no string, number, bigint or boolean`
  : 'found' extends Seen
    ? never
    : `#{${Path}} is not in the parameters of the method`;

/** Where a path leads if this parameter is the body, or carries it as a request does; `never` if it cannot be. @public */
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

/** One word for all members of a union. @public */
export type KeyEndSeen<Seen> = 'no scalar' extends Seen ? 'no scalar' : 'found' extends Seen ? 'found' : 'missing';

/** What else Nest hands to methods: requests, responses, sockets, contexts and leases are not the body. @public */
export type NoKeyBody =
  | { emit(...args: never[]): unknown }
  | { send(...args: never[]): unknown }
  | { getArgs(...args: never[]): unknown }
  | { release(...args: never[]): unknown };

/**
 * Where a path leads, with a word for each member of every union on the way. `null` is the end of the path, and is asked
 * for first, because without `strictNullChecks` it is a string, too.
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

/** The property of that name, or the element at that index. @public */
export type KeyPathStep<From, Name extends string> = Name extends keyof From
  ? From[Name]
  : Name extends `${infer Index extends number}`
    ? Index extends keyof From
      ? From[Index]
      : never
    : never;

/** What can stand in a key. @public */
export type KeyScalar = string | number | bigint | boolean;
