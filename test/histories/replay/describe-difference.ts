import type { Checkpoint, RecordedCall } from './log-entries.js';
import type { CallResult } from './replay-call.js';

type Different = Extract<CallResult, { readonly type: 'different' }>;
type KeyBefore = readonly [key: string, content: string | readonly string[], endsAt: number | undefined];

/** A call whose replay differs: what it got, what Redis did, what the rules did, and its keys before. */
export function describeCall(
  { script, keys, args, began }: RecordedCall,
  { expected, actual }: Different,
  before: readonly KeyBefore[],
): string {
  const lines = [
    `replay: a call of the script "${script}" at ${began.join('.')} differs`,
    `  keys: ${keys.join(' ')}`,
    `  arguments: ${args.map((arg) => JSON.stringify(arg)).join(' ')}`,
    ...both('reply', shown(expected.reply), shown(actual.reply)),
    ...both('messages', shown(expected.messages), shown(actual.messages)),
    ...both('keys afterwards', shown(expected.keys), shown(actual.keys)),
    '  keys before, in the rules:',
    ...before.map(([key, content, endsAt]) => `    ${key} = ${[content].flat().join(' ')} (ends at ${endsAt ?? -1})`),
  ];
  return lines.join('\n');
}

/** The keys that differ at a checkpoint; undefined if none does. */
export function describeKeys(
  { began, label }: Checkpoint,
  rules: readonly string[],
  redis: readonly string[],
): string | undefined {
  const [onlyRules, onlyRedis] = [without(rules, redis), without(redis, rules)];
  if (onlyRules.length === 0 && onlyRedis.length === 0) return undefined;
  const lines = [
    `replay: the keys at ${began.join('.')} (checkpoint "${label}") differ`,
    ...onlyRedis.map((key) => `  Redis: ${key}`),
    ...onlyRules.map((key) => `  rules: ${key}`),
  ];
  return lines.join('\n');
}

function both(name: string, expected: string, actual: string): string[] {
  return expected === actual ? [] : [`  ${name} in Redis:  ${expected}`, `  ${name} by the rules: ${actual}`];
}

const shown = (value: string | readonly string[] | undefined): string => [value ?? []].flat().join(' | ');

const without = (texts: readonly string[], others: readonly string[]): string[] =>
  texts.filter((text) => !others.includes(text));
