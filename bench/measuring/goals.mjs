/**
 * A figure that is to be reached.
 *
 * @param bounds - `{ atMost | atLeast | below, aim? }`
 */
export function goal(text, value, bounds) {
  return { text, value, bounds };
}

const SIGNS = { atMost: '<=', atLeast: '>=', below: '<' };

/** How the goal reads in a report. */
export function judged({ text, value, bounds: { aim, ...must } }) {
  const [kind, limit] = Object.entries(must)[0];
  const row = [text, shown(value), `${SIGNS[kind]} ${limit}`, reaches(kind, value, limit) ? 'reached' : 'NOT REACHED'];
  return aim === undefined ? [...row, '', ''] : [...row, `${aim}`, reaches(kind, value, aim) ? 'reached' : 'no'];
}

function reaches(kind, value, limit) {
  if (kind === 'atLeast') return value >= limit;
  return kind === 'atMost' ? value <= limit : value < limit;
}

/** Three significant figures, and thousands apart. */
export function shown(value) {
  if (typeof value !== 'number') return String(value ?? '');
  if (Number.isNaN(value)) return '-';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return String(Number(value.toPrecision(3)));
}
