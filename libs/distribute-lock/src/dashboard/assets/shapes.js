import { duration, h, setAttribute, setText, svg } from './dom.js';

/** Heights of a hold and a wait, and the space between rows. */
export const BAR = 18;
export const GAP = 3;
export const WAIT = 14;
/** Room for a mark of refused calls with its text. */
export const MARK_WIDTH = 92;
/** Room for the text in a bar. */
const TEXT_FITS = 46;

/** What each shape means, with a sample of it. */
export function legend() {
  const sample = (kind, ...shapes) =>
    svg('svg', { class: 'lk-sample', width: 34, height: BAR, 'aria-hidden': 'true', 'data-kind': kind }, ...shapes);
  const item = (text, ...shapes) => h('li', {}, sample(text, ...shapes), text);
  return h(
    'ul',
    { class: 'lk-legend', 'aria-label': 'Legend' },
    item('holds the lock and works', svg('rect', { class: 'lk-hold', width: 34, height: BAR, rx: 4 })),
    item('no instance holds the lock', sampleGap()),
    item(
      'waits for its turn',
      svg('rect', { class: 'lk-wait', y: 2, width: 34, height: WAIT, rx: 3, fill: 'url(#lk-hatch)' }),
    ),
    item('refused at once', ...cross(17, BAR / 2)),
    item('lost the lock', svg('rect', { class: 'lk-hold lk-lost', width: 34, height: BAR, rx: 4 }), bang(25)),
    // The last one: only shown beside such work.
    item('works without a lock', svg('rect', { class: 'lk-hold lk-unlocked', width: 34, height: BAR, rx: 4 })),
  );
}

/** A time in which the lock is free, as high as all rows of the lock. */
export function gap() {
  const box = svg('rect', { class: 'lk-free', y: 0, height: '100%', rx: 4 });
  const text = svg('text', { class: 'lk-gap-text', y: '50%', 'text-anchor': 'middle', 'dominant-baseline': 'central' });
  return {
    element: svg('g', {}, box, text),
    place(from, to, fits) {
      setAttribute(box, 'x', from.toFixed(1));
      setAttribute(box, 'width', (to - from).toFixed(1));
      setAttribute(text, 'x', ((from + to) / 2).toFixed(1));
      setText(text, fits ? 'free' : '');
    },
  };
}

function sampleGap() {
  const sample = gap();
  sample.place(1, 33, true);
  return sample.element;
}

function cross(x, y) {
  const arm = (dx) => svg('line', { x1: x - 4, x2: x + 4, y1: y - dx, y2: y + dx });
  return [svg('g', { class: 'lk-cross' }, svg('circle', { cx: x, cy: y, r: 8.5 }), arm(4), arm(-4))];
}

const bang = (x) => svg('text', { class: 'lk-bang', x, y: 13.5 }, '!');

/** What the text of a hold adds. */
const AFTER = { silent: ', stopped', detached: ', detached' };

/** A hold. After a crash, its lease still keeps the others out until it has run out; a detached lease, until its ticket is used. */
export function hold() {
  const tail = svg('rect', { class: 'lk-tail', height: BAR - 2, y: 1, rx: 4 });
  const tailText = svg('text', { class: 'lk-tail-text', y: 13 });
  const rect = svg('rect', { class: 'lk-hold', height: BAR, rx: 4 });
  const text = svg('text', { class: 'lk-bar-text', y: 13 });
  const mark = svg('text', { class: 'lk-bang', y: 13.5 }, '!');
  const title = svg('title');
  const element = svg('g', {}, tail, tailText, rect, text, mark, title);
  return {
    element,
    place(bar, scale) {
      const [x, width] = extent(bar, scale, 3);
      const isLost = bar.outcome === 'lost';
      note(element, bar);
      setAttribute(element, 'transform', `translate(${x.toFixed(1)} ${bar.level * (BAR + GAP)})`);
      setAttribute(rect, 'width', width.toFixed(1));
      setAttribute(rect, 'class', `lk-hold lk-${bar.kind} lk-${bar.outcome}`);
      mark.toggleAttribute('hidden', !isLost);
      setAttribute(mark, 'x', Math.max(1, width - 9).toFixed(1));
      const ms = (bar.end || scale.now) - bar.start;
      const words = isLost ? `lost after ${duration(ms)}` : duration(ms) + (AFTER[bar.outcome] ?? '');
      const left = Math.max(6, 6 - x);
      setAttribute(text, 'x', left.toFixed(1));
      setText(text, width + Math.min(0, x) > TEXT_FITS + (words.length - 5) * 6 ? words : '');
      const [, leaseWidth] =
        bar.tail === 0 ? [0, 0] : extent({ start: bar.end, end: Math.min(bar.tail, scale.now) }, scale, 0);
      setAttribute(tail, 'x', width.toFixed(1));
      setAttribute(tail, 'width', leaseWidth.toFixed(1));
      setAttribute(tailText, 'x', (width + 6).toFixed(1));
      const tailWords = bar.outcome === 'detached' ? ['detached', 'detached'] : ['crashed: lease runs out', 'crashed'];
      setText(tailText, leaseWidth > 150 ? tailWords[0] : leaseWidth > 60 ? tailWords[1] : '');
      setText(title, `${bar.kind === 'unlocked' ? 'works without a lock' : 'holds the lock'}: ${words}`);
    },
  };
}

export function wait() {
  const rect = svg('rect', { class: 'lk-wait', height: WAIT, rx: 3, fill: 'url(#lk-hatch)' });
  const text = svg('text', { class: 'lk-wait-text', y: 11 });
  const title = svg('title');
  const element = svg('g', {}, rect, text, title);
  return {
    element,
    place(bar, scale, top) {
      const [x, width] = extent(bar, scale, 2);
      note(element, bar);
      setAttribute(element, 'transform', `translate(${x.toFixed(1)} ${top})`);
      setAttribute(rect, 'width', width.toFixed(1));
      const left = Math.max(5, 5 - x);
      const room = width + Math.min(0, x);
      setAttribute(text, 'x', left.toFixed(1));
      setText(text, room > 70 ? `${bar.count} waiting` : room > 20 ? String(bar.count) : '');
      setText(title, `${bar.count} callers wait`);
    },
  };
}

export function refusal() {
  const mark = svg('g', { class: 'lk-mark' }, ...cross(0, BAR / 2));
  const text = svg('text', { class: 'lk-refused-text', x: 12, y: 13.5 });
  const title = svg('title');
  const element = svg('g', {}, mark, text, title);
  return {
    element,
    place(bar, scale, below) {
      const x = scale.x(bar.start);
      note(element, bar);
      const isLate = x > scale.width - MARK_WIDTH;
      setAttribute(
        element,
        'transform',
        `translate(${Math.min(x, scale.width - 10).toFixed(1)} ${below + bar.level * (BAR + GAP)})`,
      );
      setAttribute(text, 'x', isLate ? -12 : 12);
      setAttribute(text, 'text-anchor', isLate ? 'end' : 'start');
      setText(text, `${bar.count} refused`);
      setText(title, `${bar.count} calls were refused: ${bar.kind}`);
    },
  };
}

/** What the shape stands for, for scripts that read the page. */
function note({ dataset }, { start, end, outcome }) {
  Object.assign(dataset, { start, end, outcome });
}

function extent({ start, end }, { x, now }, least) {
  const from = x(start);
  const to = x(end || Math.max(now, start));
  return [from, Math.max(least, to - from)];
}

export function hatch() {
  const lines = svg('path', { class: 'lk-hatch', d: 'M-2 2l4-4M0 8l8-8M6 10l4-4' });
  const pattern = svg('pattern', { id: 'lk-hatch', width: 8, height: 8, patternUnits: 'userSpaceOnUse' }, lines);
  return svg('svg', { class: 'lk-defs', width: 0, height: 0, 'aria-hidden': 'true' }, svg('defs', {}, pattern));
}
