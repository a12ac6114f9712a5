import { duration, h, heldElsewhere, isDetached, setAttribute, setText, svg } from './dom.js';
import { BAR, gap, GAP, hatch, hold, legend, MARK_WIDTH, refusal, WAIT, wait } from './shapes.js';

const MOST_STACKED = 8;
/** Shorter times without a holder are not drawn. */
const FREE_LEAST = 12;
/** Room for the word. */
const FREE_FITS = 42;
const KEEP_MS = 65_000;

/** The bars of the locks that are in use, a row for each instance. */
export class Timeline {
  constructor({ now, instances, drawn }) {
    Object.assign(this, { now, instances, drawn });
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
    this.legend = legend();
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
    this.legend.lastChild.hidden = !order.some(([, , , kind]) => kind === 'unlocked');
    this.empty.hidden = order.length > 0;
    this.axis.hidden = order.length === 0;
  }

  lane(id, name, key, kind, elsewhere) {
    const lane = this.lanes.get(id) ?? this.newLane(id);
    lane.elsewhere = elsewhere;
    lane.unlocked = kind === 'unlocked';
    // Several methods may share one lock, so its key comes first.
    const hasKey = key !== '' && !lane.unlocked;
    setText(lane.name, hasKey ? key : name);
    setText(lane.key, hasKey ? name : lane.unlocked ? '' : id);
    setText(lane.kind, lane.unlocked ? 'no lock' : kind);
    lane.kind.hidden = kind === '';
    return lane;
  }

  newLane(id) {
    const name = h('span', { class: 'lk-name' });
    const key = h('code', { class: 'lk-key' });
    const kind = h('span', { class: 'lk-kind' });
    const state = h('span', { class: 'lk-state' });
    const free = svg('svg', { class: 'lk-gaps', 'aria-hidden': 'true' });
    const tracks = h('div', { class: 'lk-tracks' }, free);
    const head = h('h3', {}, name, key, kind, state);
    const lane = {
      id,
      name,
      key,
      kind,
      state,
      tracks,
      free,
      gaps: [],
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
      this.drawn();
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
    const crashed = visible.find(({ outcome, tail }) => outcome === 'silent' && tail > scale.now);
    const rest = crashed === undefined ? 'free now' : `the lease of ${this.labelOf(crashed.place)} runs out`;
    const { elsewhere } = lane;
    const left = elsewhere?.[1] > 0 ? `, ${duration(elsewhere[1] - scale.now)} left` : '';
    const free = lane.unlocked ? 'idle now' : elsewhere ? heldElsewhere(elsewhere) + left : rest;
    const also = isDetached(elsewhere) ? `, ${heldElsewhere(elsewhere)}` : '';
    const held = `${lane.unlocked ? 'works at' : 'held by'} ${who}${also}`;
    setText(lane.state, `${who === '' ? free : held}${waiting === 0 ? '' : `, ${waiting} waiting`}`);
    this.drawGaps(lane, lane.unlocked || (elsewhere && who === '') ? [] : bars, scale);
  }

  /** One box across the rows of all instances, because the whole lock is free. */
  drawGaps(lane, bars, { x, now }) {
    const gaps = freeTimes(bars, now)
      .map(([from, to]) => [Math.max(-2, x(from)), x(to)])
      .filter(([from, to]) => to - from > FREE_LEAST);
    while (lane.gaps.length > gaps.length) lane.gaps.pop().element.remove();
    while (lane.gaps.length < gaps.length) {
      const shape = gap();
      lane.gaps.push(shape);
      lane.free.append(shape.element);
    }
    gaps.forEach(([from, to], i) => lane.gaps[i].place(from, to, to - from > FREE_FITS));
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
    const picture = svg('svg', { role: 'img', 'data-place': place });
    const row = {
      label,
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

/** The times in which no instance holds the lock or waits for it, after the first hold. */
function freeTimes(bars, now) {
  const busy = bars.filter(({ outcome }) => outcome !== 'refused').toSorted((a, b) => a.start - b.start);
  const free = [];
  let until = busy[0]?.start ?? now;
  for (const { start, end, tail } of busy) {
    if (start > until) free.push([until, start]);
    until = Math.max(until, Math.min(now, tail), end || now);
  }
  return now > until ? [...free, [until, now]] : free;
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
