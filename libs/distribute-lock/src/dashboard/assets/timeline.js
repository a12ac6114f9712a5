import { h, setAttribute, setText, svg } from './dom.js';
import { BAR, GAP, hatch, hold, MARK_WIDTH, refusal, WAIT, wait } from './shapes.js';

const MOST_STACKED = 8;
/** Room for the word in a gap. */
const FREE_FITS = 60;
const KEEP_MS = 65_000;

/** The bars of the locks that are in use, a row for each instance. */
export class Timeline {
  constructor({ now, instances, isLive }) {
    Object.assign(this, { now, instances, isLive });
    this.lanes = new Map();
    this.bars = new Map();
    this.calm = matchMedia('(prefers-reduced-motion: reduce)');
    this.empty = h(
      'p',
      { class: 'lk-empty' },
      'No lock is in use. Bars appear here as soon as a call acquires a lock.',
    );
    this.axis = h('div', { class: 'lk-axis', 'aria-hidden': 'true' });
    this.list = h('div', { class: 'lk-lanes' });
    this.element = h('div', {}, hatch(), this.empty, this.list, this.axis);
    this.frozenAt = undefined;
    // A redraw for a new width, without waiting for the next frame.
    new ResizeObserver(() => this.draw()).observe(this.list);
  }

  /** The server sends all that it knows again, with names of its own. */
  begin() {
    this.frozenAt = undefined;
    this.bars.clear();
    this.order = [];
    this.arrange();
  }

  /** Nothing is known any more: open bars stop growing. */
  freeze() {
    this.frozenAt ??= this.now();
  }

  apply({ lanes, bars = [] }) {
    if (lanes !== undefined) this.order = lanes;
    for (const words of bars) this.learn(words);
    this.arrange();
  }

  learn([id, lock, place, kind, start, end, outcome, count, tail]) {
    const level = this.bars.get(id)?.level ?? -1;
    this.bars.set(id, { id, lock, place, kind, start, end, outcome, count, tail, level });
  }

  arrange() {
    const order = this.order ?? [];
    const rows = order.map((words) => this.lane(...words));
    for (const [id, lane] of this.lanes) {
      if (order.some(([shown]) => shown === id)) continue;
      lane.element.remove();
      this.lanes.delete(id);
    }
    rows.forEach(({ element }, i) => {
      if (this.list.children[i] !== element) this.list.insertBefore(element, this.list.children[i] ?? null);
    });
    this.empty.hidden = order.length > 0;
    this.axis.hidden = order.length === 0;
  }

  lane(id, name, key, kind) {
    const lane = this.lanes.get(id) ?? this.newLane(id);
    lane.unlocked = kind === 'unlocked';
    setText(lane.name, name);
    setText(lane.key, lane.unlocked ? '' : key || id);
    setText(lane.kind, lane.unlocked ? 'no lock' : kind);
    lane.kind.hidden = kind === '';
    return lane;
  }

  newLane(id) {
    const name = h('span', { class: 'lk-name' });
    const key = h('code', { class: 'lk-key' });
    const kind = h('span', { class: 'lk-kind' });
    const state = h('span', { class: 'lk-state' });
    const tracks = h('div', { class: 'lk-tracks' });
    const head = h('h3', {}, name, key, kind, state);
    const lane = {
      id,
      name,
      key,
      kind,
      state,
      tracks,
      rows: new Map(),
      element: h('div', { class: 'lk-lane', 'data-lock': id }, head, tracks),
    };
    this.lanes.set(id, lane);
    return lane;
  }

  run() {
    let last = 0;
    const frame = (at) => {
      requestAnimationFrame(frame);
      if (at - last < (this.calm.matches ? 1000 : 60)) return;
      last = at;
      this.draw();
    };
    requestAnimationFrame(frame);
  }

  draw() {
    const now = this.frozenAt ?? this.now();
    for (const [key, { end }] of this.bars) if (end !== 0 && end < now - KEEP_MS) this.bars.delete(key);
    const width = Math.max(100, this.list.clientWidth - this.labelWidth());
    const shown = width < 500 ? 15_000 : 30_000;
    const markMs = (MARK_WIDTH * shown) / width;
    const scale = { now, width, markMs, x: (at) => width - ((now - at) * width) / shown, from: now - shown };
    const byLock = Map.groupBy?.(this.bars.values(), ({ lock }) => lock) ?? grouped(this.bars.values());
    for (const lane of this.lanes.values()) this.drawLane(lane, byLock.get(lane.id) ?? [], scale);
    this.drawAxis(shown, width);
  }

  labelWidth() {
    return parseFloat(getComputedStyle(this.axis).marginLeft);
  }

  drawLane(lane, bars, scale) {
    const places = [...this.instances.keys()];
    for (const [place, row] of lane.rows) {
      if (places.includes(place)) continue;
      row.element.remove();
      lane.rows.delete(place);
    }
    const visible = bars.filter(({ end, tail }) => end === 0 || Math.max(end, tail) > scale.from);
    for (const place of places)
      this.drawRow(
        lane,
        place,
        visible.filter((bar) => bar.place === place),
        scale,
      );
    const open = visible.filter(({ end }) => end === 0);
    const holders = open.filter(({ kind }) => kind !== 'wait');
    const waiting = open.filter(({ kind }) => kind === 'wait').reduce((sum, { count }) => sum + count, 0);
    const who = [...new Set(holders.map(({ place }) => this.labelOf(place)))].join(' and ');
    const crashed = visible.find(({ tail }) => tail > scale.now);
    const rest = crashed === undefined ? 'free now' : `the lease of ${this.labelOf(crashed.place)} runs out`;
    const free = lane.unlocked ? 'no work' : rest;
    const held = `${lane.unlocked ? 'works at' : 'held by'} ${who}`;
    setText(lane.state, `${who === '' ? free : held}${waiting === 0 ? '' : `, ${waiting} waiting`}`);
    this.drawGaps(lane, lane.unlocked ? [] : visible, scale);
  }

  /** Names the times between two holds, in which the lock is free. */
  drawGaps(lane, bars, { x, now }) {
    const [first] = lane.rows.values();
    if (first === undefined) return;
    const holds = bars.filter(({ kind, outcome }) => kind !== 'wait' && outcome !== 'refused');
    const gaps = [];
    let until = Infinity;
    for (const { start, end, tail } of holds.toSorted((a, b) => a.start - b.start)) {
      if (x(start) - x(until) > FREE_FITS) gaps.push((x(start) + x(until)) / 2);
      until = Math.max(until === Infinity ? 0 : until, Math.min(now, tail) || end || now);
    }
    if (x(now) - x(until) > FREE_FITS) gaps.push((x(now) + x(until)) / 2);
    while (first.gaps.length > gaps.length) first.gaps.pop().remove();
    while (first.gaps.length < gaps.length) {
      const text = svg('text', { class: 'lk-gap-text', y: 13, 'text-anchor': 'middle' }, 'free');
      first.gaps.push(text);
      first.svg.append(text);
    }
    gaps.forEach((at, i) => setAttribute(first.gaps[i], 'x', at.toFixed(1)));
  }

  drawRow(lane, place, bars, scale) {
    const row = this.rowOf(lane, place);
    const refused = bars.filter(({ outcome }) => outcome === 'refused');
    const holds = bars.filter(({ kind, outcome }) => kind !== 'wait' && outcome !== 'refused');
    const waits = bars.filter(({ kind }) => kind === 'wait');
    const below = Math.max(1, stack(holds, scale)) * (BAR + GAP);
    const top = below + stack(refused, scale) * (BAR + GAP);
    const height = top + (waits.length > 0 ? WAIT + GAP : 0);
    setText(row.label, this.labelOf(place));
    row.element.toggleAttribute('data-silent', this.instances.get(place)?.responds === false);
    setAttribute(row.svg, 'height', height);
    setAttribute(row.svg, 'width', scale.width);
    setAttribute(row.svg, 'viewBox', `0 0 ${scale.width} ${height}`);
    setAttribute(row.base, 'x2', scale.width);
    this.describe(row, lane, place, { holds, waits, refused });
    const used = new Set();
    for (const bar of bars) {
      used.add(bar.id);
      const shape = row.shapes.get(bar.id) ?? this.shape(row, bar);
      shape.place(bar, scale, bar.outcome === 'refused' ? below : top);
    }
    for (const [key, { element }] of row.shapes) {
      if (used.has(key)) continue;
      element.remove();
      row.shapes.delete(key);
    }
  }

  rowOf(lane, place) {
    const known = lane.rows.get(place);
    if (known !== undefined) return known;
    const label = h('span', { class: 'lk-who' });
    const base = svg('line', { class: 'lk-free', x1: 0, y1: BAR / 2, y2: BAR / 2 });
    const picture = svg('svg', { role: 'img', 'data-place': place }, base);
    const row = {
      label,
      base,
      gaps: [],
      svg: picture,
      shapes: new Map(),
      element: h('div', { class: 'lk-row' }, label, picture),
    };
    lane.rows.set(place, row);
    lane.tracks.append(row.element);
    return row;
  }

  describe(row, lane, place, { holds, waits, refused }) {
    const words = [
      holds.some(({ end }) => end === 0) ? 'holds the lock now' : 'does not hold the lock now',
      `${holds.length} holds`,
      `${refused.reduce((sum, { count }) => sum + count, 0)} refused calls`,
      waits.some(({ end }) => end === 0) ? 'callers wait' : 'no caller waits',
    ];
    setAttribute(row.svg, 'aria-label', `${lane.name.textContent} at ${this.labelOf(place)}: ${words.join(', ')}`);
  }

  labelOf(place) {
    return this.instances.get(place)?.label ?? '?';
  }

  shape(row, bar) {
    const shape = bar.outcome === 'refused' ? refusal() : bar.kind === 'wait' ? wait() : hold();
    shape.element.dataset.kind = bar.outcome === 'refused' ? 'refused' : bar.kind;
    row.shapes.set(bar.id, shape);
    row.svg.append(shape.element);
    return shape;
  }

  drawAxis(shown, width) {
    const step = 5_000;
    const marks = [];
    for (let ago = shown; ago >= 0; ago -= step) marks.push([ago, width - (ago * width) / shown]);
    const text = marks.map(([ago]) => ago).join();
    if (this.axis.dataset.marks === `${text} ${width}`) return;
    this.axis.dataset.marks = `${text} ${width}`;
    const picture = svg('svg', { width, height: 18 });
    for (const [ago, x] of marks) {
      const anchor = ago === 0 ? 'end' : ago === shown ? 'start' : 'middle';
      picture.append(svg('text', { x, y: 13, 'text-anchor': anchor }, ago === 0 ? 'now' : `${ago / 1000} s ago`));
    }
    this.axis.replaceChildren(picture);
  }
}

/** Gives every bar the lowest free level; returns the number of levels. */
function stack(bars, { now, markMs }) {
  const ends = [];
  const inOrder = bars.toSorted((a, b) => a.start - b.start);
  for (const bar of inOrder) {
    const end = bar.outcome === 'refused' ? bar.start + markMs : bar.end || Math.max(now, bar.start) + 1;
    if (bar.level < 0) {
      const free = ends.findIndex((used) => (used ?? 0) <= bar.start + 1);
      bar.level = Math.min(MOST_STACKED - 1, free < 0 ? ends.length : free);
    }
    ends[bar.level] = Math.max(ends[bar.level] ?? 0, end);
  }
  return ends.length;
}

function grouped(bars) {
  const groups = new Map();
  for (const bar of bars) groups.set(bar.lock, [...(groups.get(bar.lock) ?? []), bar]);
  return groups;
}
