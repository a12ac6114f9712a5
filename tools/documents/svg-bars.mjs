/** A bar chart as SVG, with its own background, so that it is readable on any page. */

const WIDTH = 760;
const NAMES = 245;
const VALUES = 70;
const BAR = 16;
const GAP = 10;
const TOP = 58;
const LEGEND = 22;
const COLORS = {
  text: '#1f2328',
  quiet: '#59636e',
  others: ['#b6bfcc', '#8c96a6', '#65708a', '#3f4b66'],
  ours: ['#7c93e6', '#3451b2'],
};
const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";

/**
 * @param chart - `{ title, unit, series, rows, log }`: `series` has one name for each value of a row; a row is
 *   `{ name, values, ours }`. With `log` the scale is logarithmic, and starts at the smallest value or at 1.
 * @param shown - renders a value
 */
export function barChart({ title, unit, series = [''], rows, log = false }, shown) {
  const length = scale(
    rows.flatMap(({ values }) => values),
    log,
  );
  const legend = series.length > 1 ? LEGEND : 0;
  const height = BAR * series.length + GAP;
  const total = TOP + legend + rows.length * height + GAP;
  const parts = [
    `<rect width="${WIDTH}" height="${total}" rx="8" fill="#fff"/>`,
    text(16, 26, title, `font-size="15" font-weight="600"`),
    text(16, 45, log ? `${unit}, logarithmic scale` : unit, `font-size="12" fill="${COLORS.quiet}"`),
    ...(legend > 0 ? series.map((name, at) => legendOf(name, at, rows)) : []),
    ...rows.map((row, at) => bars(row, TOP + legend + at * height, length, shown)),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${total}" width="${WIDTH}" height="${total}" font-family="${FONT}" font-size="13" fill="${COLORS.text}" role="img">`,
    `<title>${escaped(title)}</title>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

/** The length of a bar in pixels. */
function scale(values, log) {
  const space = WIDTH - NAMES - VALUES - 16;
  const most = Math.max(...values);
  if (!log) return (value) => (space * value) / most;
  const least = Math.min(1, ...values.filter((value) => value > 0));
  const part = (value) => Math.log(value / least) / Math.log(most / least);
  return (value) => (value > 0 ? space * part(value) : 0);
}

function bars({ name, values, ours = false }, top, length, shown) {
  const colors = ours ? COLORS.ours : COLORS.others;
  const shades = values.length > 1 ? colors : colors.slice(ours ? 1 : 0);
  const middle = top + (BAR * values.length) / 2 + 4;
  return [
    text(NAMES - 10, middle, name, `text-anchor="end"${ours ? ' font-weight="600"' : ''}`),
    ...values.flatMap((value, at) => {
      const y = top + at * BAR;
      const width = Math.max(1, length(value)).toFixed(1);
      return [
        `<rect x="${NAMES}" y="${y + 1}" width="${width}" height="${BAR - 2}" rx="2" fill="${shades[at]}"/>`,
        text((NAMES + Number(width) + 6).toFixed(1), y + 12, shown(value), `font-size="12"`),
      ];
    }),
  ].join('\n');
}

function legendOf(name, at, rows) {
  const x = NAMES + at * 120;
  const colors = [COLORS.others, ...(rows.some(({ ours }) => ours) ? [COLORS.ours] : [])];
  return [
    ...colors.map(
      (shades, pair) => `<rect x="${x + pair * 12}" y="${TOP}" width="10" height="10" rx="2" fill="${shades[at]}"/>`,
    ),
    text(x + 6 + colors.length * 12, TOP + 9, name, `font-size="12"`),
  ].join('\n');
}

const text = (x, y, content, attributes) => `<text x="${x}" y="${y}" ${attributes}>${escaped(content)}</text>`;

const escaped = (content) => String(content).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
