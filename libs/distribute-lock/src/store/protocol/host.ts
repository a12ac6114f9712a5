import { channelIdOf, processOf } from '../../runtime/owner-token.js';
import { REFUSED } from './reply-codes.js';
import type { Reply } from './reply.js';

// What Lua and TypeScript do in different ways: patterns, numbers as text, tables and errors. Lua counts bytes, so tokens and prefixes are ASCII here. `host.lua` has the same functions by the same names.

const WORDS = /^([a-z]) (\S+) ?(\S*) ?(\S*) ?(\S*) ?(\S*)$/;
const READER = /:[A-Za-z0-9]+:r$/;
const PERMITS = /:[a-z0-9]+P(\d+):(\d+)$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** The number in a text of the server, or in a word of a command. A number stays as it is. */
export const toNumber = (text: string | number): number => Number(text);

/** The number in a text of any origin; undefined if it is no decimal number. */
export const decimalOf = (text: string): number | undefined => (NUMBER.test(text) ? Number(text) : undefined);

/** A whole number as text, without an exponent. */
export const digits = (number: number): string => number.toFixed(0);

/** A number as text that denotes exactly this number. */
export const exactly = (number: number): string => String(number);

/** The six words of a command; missing ones are empty. Without values if the text is no command. */
export function wordsOf(text: string): readonly [string, string, string, string, string, string] {
  return (WORDS.exec(text)?.slice(1) ?? []) as [string, string, string, string, string, string];
}

/** The words of a text of any length. */
export const allWords = (text: string): string[] => text.match(/\S+/g) ?? [];

/**
 * The process id of an owner token `<process id>:<sequence>`, which may have a third part; undefined for the value of a
 * foreign client.
 */
export const processIn = (token: string): string | undefined => processOf(token);

/** The first 22 characters: two tokens of one process have the same ones. */
export const processPart = (token: string): string => token.slice(0, 22);

/** The first 23 characters: with the colon behind the process id. */
export const processPrefix = (token: string): string => token.slice(0, 23);

/** The first 11 characters of a process id: the name of its inbox. Only this part may become part of a name. */
export const channelPart = (process: string): string => channelIdOf(process);

/** The token of a reader has `r` as its third part. A token of two parts that ends in `:r` is the 27th of a process. */
export const isReadToken = (token: string): boolean => READER.test(token);

/** The weight of a semaphore's owner token; 0 if it has another form. */
export const weightIn = (token: string): number => Number(PERMITS.exec(token)?.[2] ?? 0);

/** The total number of permits that the caller of a semaphore's owner token knows. */
export const permitsIn = (token: string): number => Number(PERMITS.exec(token)?.[1] ?? 0);

/** The number of permits in the value of a semaphore's key; undefined if another lock has the key. */
export function permitsOfValue(value: string): number | undefined {
  const permits = /^semaphore:(\d+)$/.exec(value)?.[1];
  return permits === undefined ? undefined : Number(permits);
}

/** The prefix of the locks: the name of the fencing counter ends with its length in bytes. */
export const lockPrefix = (lock: string, fence: string): string => lock.slice(0, Number(/\d+$/.exec(fence)?.[0]));

/** The parts of a counter `<number>~<end in ms>`; empty if it has no mark. */
export function markParts(counter: string): readonly [string, string] {
  return (/^(\d+)~(\d+)$/.exec(counter)?.slice(1) ?? []) as [string, string];
}

/** The kind and the id of a member of a quorum's record; empty for other members. */
export function memberParts(member: string): readonly [string, string] {
  return (/^([#=+])([\w-]+)$/.exec(member)?.slice(1) ?? []) as [string, string];
}

/** A table whose keys may be any text. */
export const emptyTable = <T>(): Record<string, T | undefined> => Object.create(null) as Record<string, T | undefined>;

/**
 * Runs one of several commands. A rejected command (a key of another type, a full server) must not fail the others: its
 * reply is the error.
 */
export function safely<T extends readonly unknown[]>(run: (this: void, ...values: T) => Reply, ...values: T): Reply {
  try {
    return run(...values);
  } catch (error) {
    return [REFUSED, faultText(error), 0];
  }
}

function faultText(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'object' && error !== null && 'err' in error ? String(error.err) : String(error);
}

/** The letter with which a command begins. */
export const firstLetter = (command: string): string => command.charAt(0);

/** The token of a release without a next attempt: `d <token>`. */
export const tokenOfRelease = (command: string): string => command.slice(2);

/** Microseconds with six digits. */
export const sixDigits = (microseconds: string): string => microseconds.padStart(6, '0');

/** The digits with which a text begins. */
export const leadingDigits = (text: string): string | undefined => /^\d+/.exec(text)?.[0];

/** The texts, separated by spaces. */
export const joined = (texts: readonly string[]): string => texts.join(' ');
