import { median } from './figures.mjs';

/**
 * A required figure.
 *
 * @param measured - a number, or one number per round, of which the median counts
 * @param bounds - `{ atMost | atLeast | below, aim? }`
 */
export function goal(text, measured, { aim, ...must }) {
  const values = [measured].flat();
  const value = median(values);
  const [kind, limit] = Object.entries(must)[0];
  return { text, value, values, kind, limit, aim, reached: reaches(kind, value, limit) };
}

const SIGNS = { atMost: '<=', atLeast: '>=', below: '<' };

export const GOAL_COLUMNS = ['figure', 'measured', 'in rounds', 'must', '', 'aim', ''];

/** The row of the goal in a report. */
export function goalRow({ text, value, values, kind, limit, aim, reached }) {
  const range = values.length < 2 ? '' : `${shown(Math.min(...values))} - ${shown(Math.max(...values))}`;
  const row = [text, shown(value), range, `${SIGNS[kind]} ${limit}`, reached ? 'reached' : 'NOT REACHED'];
  return aim === undefined ? [...row, '', ''] : [...row, `${aim}`, reaches(kind, value, aim) ? 'reached' : 'no'];
}

function reaches(kind, value, limit) {
  if (kind === 'atLeast') return value >= limit;
  return kind === 'atMost' ? value <= limit : value < limit;
}

/** Three significant digits, with a thousands separator. */
export function shown(value) {
  if (typeof value !== 'number') return String(value ?? '');
  if (Number.isNaN(value)) return '-';
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return String(Number(value.toPrecision(3)));
}
