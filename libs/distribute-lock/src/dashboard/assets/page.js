import { count, duration, h, setAttribute, setText } from './dom.js';
import { LockTable } from './table.js';
import { Timeline } from './timeline.js';

/** The server sends a message each second at least. */
const SILENT_MS = 4_000;
const RETRY_MS = 2_000;

const root = document.getElementById('lock-page');
const source = root.dataset.source;
const state = { clock: 0, instances: new Map(), rights: {}, live: false };
const now = () => performance.now() + state.clock;

const table = new LockTable({ now, instances: state.instances, source, changed: connect });
const timeline = new Timeline({ now, instances: state.instances, drawn: () => state.live && tick() });

const cards = {
  held: card('Held', 'locks in use now'),
  waiting: card('Waiting', 'callers in line now'),
  oldest: card('Longest wait', 'of those still in line'),
  lost: card('Lost', 'leases, since the start'),
};
const status = h('span', { class: 'lk-status', role: 'status' });
const instanceList = h('ul', { class: 'lk-instances', 'aria-label': 'Instances' });
const banner = h('p', { class: 'lk-banner', role: 'alert', hidden: true });

root.replaceChildren(
  h('header', { class: 'lk-head' }, h('h1', {}, root.dataset.title ?? 'Locks'), instanceList, status),
  banner,
  ...[...root.querySelectorAll('[data-keep]')],
  h('section', { class: 'lk-cards', 'aria-label': 'Totals' }, ...Object.values(cards).map(({ element }) => element)),
  h(
    'section',
    { class: 'lk-panel', 'aria-labelledby': 'lk-timeline' },
    h('div', { class: 'lk-panel-head' }, h('h2', { id: 'lk-timeline' }, 'Timeline'), timeline.legend),
    timeline.element,
  ),
  h('section', { class: 'lk-panel', 'aria-labelledby': 'lk-table' }, ...table.elements),
);

function card(title, hint) {
  const value = h('dd', { class: 'lk-value' }, '–');
  return {
    value,
    element: h('dl', { class: 'lk-card' }, h('dt', {}, title), value, h('dd', { class: 'lk-hint' }, hint)),
  };
}

let events;
let retry;
let heardAt = 0;
let totals = [0, 0, 0, 0];

function connect() {
  events?.close();
  clearTimeout(retry);
  events = new EventSource(`${source}/events?${new URLSearchParams(table.request)}`);
  events.addEventListener('hello', ({ data }) => {
    const { t, ...rights } = JSON.parse(data);
    heard(t);
    state.clock = t - performance.now();
    table.begin(rights);
    timeline.begin();
  });
  events.addEventListener('delta', ({ data }) => {
    const delta = JSON.parse(data);
    heard(delta.t);
    apply(delta);
  });
  events.addEventListener('error', () => {
    lost();
    // After a refusal the browser does not try again.
    if (events.readyState !== EventSource.CLOSED) return;
    clearTimeout(retry);
    retry = setTimeout(connect, RETRY_MS);
  });
}

function heard(t) {
  heardAt = performance.now();
  // The message with the shortest way shows the clock of the server best.
  state.clock = Math.max(state.clock - 1, t - performance.now());
  show(true);
}

function lost() {
  if (state.live) timeline.freeze();
  show(false);
}

function show(live) {
  state.live = live;
  root.classList.toggle('lk-stale', !live);
  setText(status, live ? 'Live' : 'Connecting …');
  setAttribute(status, 'data-live', live);
  banner.hidden = live || heardAt === 0;
  setText(
    banner,
    banner.hidden ? '' : 'This instance does not answer. The figures below are the last known ones; trying again …',
  );
}

function apply({ instances, cards: figures, ...delta }) {
  if (instances !== undefined) showInstances(instances);
  if (figures !== undefined) totals = figures;
  table.apply(delta);
  timeline.apply(delta);
  tick();
}

function showInstances(list) {
  state.instances.clear();
  for (const [place, label, responds] of list) state.instances.set(place, { label, responds });
  instanceList.replaceChildren(
    ...list.map(([, label, responds]) =>
      h('li', { 'data-responds': String(responds) }, label, ...(responds ? [] : [h('span', {}, ' does not answer')])),
    ),
  );
}

function tick() {
  const [held, waiting, since, lostLeases] = totals;
  setText(cards.held.value, count(held));
  setText(cards.waiting.value, count(waiting));
  setText(cards.oldest.value, since === 0 ? '–' : duration(Math.max(0, now() - since)));
  setText(cards.lost.value, count(lostLeases));
  cards.lost.element.classList.toggle('lk-bad', lostLeases > 0);
  table.tick();
}

setInterval(() => {
  if (performance.now() - heardAt > SILENT_MS) lost();
}, 1000);

connect();
timeline.run();
