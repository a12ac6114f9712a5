import type { TicketFate, TicketRecord } from './lock-store.js';

// The record of a ticket: the text of the lease, which ends in `}`, and behind it a letter for each call that marked it.

const LETTERS = { used: 'u', released: 'r' } as const;
const RECORD = /^(.*\})([ur]*)$/s;

export const markOf = (fate: keyof typeof LETTERS): string => LETTERS[fate];

const fateOf = (marks: string): TicketFate => {
  if (marks === '') return 'kept';
  return marks.startsWith(LETTERS.used) ? 'used' : 'released';
};

/** The record with this value; `undefined` if there is none, or a value of another origin. */
export function ticketRecord(value: unknown, leftMs: number): TicketRecord | undefined {
  const [, text, marks = ''] = (typeof value === 'string' && RECORD.exec(value)) || [];
  if (text === undefined) return undefined;
  const uses = marks.split(LETTERS.used).length - 1;
  return { text, fate: fateOf(marks), uses, isReleased: marks.includes(LETTERS.released), leftMs };
}
