import { count, duration, h, heldElsewhere, isDetached, setText } from './dom.js';

const ROWS = 15;
const TYPING_MS = 250;

const COLUMNS = [
  ['name', 'Lock'],
  ['kind', 'Kind'],
  ['holder', 'Held by'],
  ['age', 'Held for'],
  ['left', 'Lease ends in'],
  ['waiting', 'Waiting'],
];

const HOLDER_LOSES =
  'The holder is notified and loses the lock at once. Work that ignores the signal continues beside the next holder.';
const TICKET_ENDS =
  'The lease is detached: the release notifies no process, and the ticket of the lease becomes useless.';

/** The table of locks, with its filter and pages. The server sorts and filters. */
export class LockTable {
  constructor({ now, instances, source, changed }) {
    Object.assign(this, { now, instances, source, changed });
    this.request = { page: 0, sort: 'age', dir: 'desc', q: '' };
    this.rows = new Map();
    this.order = [];
    this.total = [0, 0];
    this.rights = {};
    this.build();
  }

  begin(rights) {
    this.rights = rights;
    this.rows.clear();
    this.order = [];
    this.release.hidden = !rights.allowForceRelease;
  }

  apply({ rows = [], order, total }) {
    for (const [id, ...words] of rows) {
      const [name, key, kind, holders, since, until, waiting, elsewhere] = words;
      this.rows.set(id, { id, name, key, kind, holders, since, until, waiting, elsewhere });
    }
    if (total !== undefined) this.total = total;
    if (order !== undefined) {
      this.order = order;
      for (const id of this.rows.keys()) if (!order.includes(id)) this.rows.delete(id);
    }
    if (rows.length > 0 || order !== undefined || total !== undefined) this.draw();
  }

  /** Ages and times left change without a message. */
  tick() {
    for (const [i, id] of this.order.entries()) this.fill(this.body.rows[i], this.rows.get(id));
  }

  get elements() {
    return [
      h('div', { class: 'lk-panel-head' }, h('h2', { id: 'lk-table' }, 'Locks in use'), this.filter),
      h('div', { class: 'lk-scroll', tabindex: '0', role: 'group', 'aria-label': 'Table of locks' }, this.table),
      this.empty,
      h('div', { class: 'lk-pages' }, this.previous, this.position, this.next),
      this.dialog,
    ];
  }

  build() {
    this.heads = new Map(COLUMNS.map(([sort, title]) => [sort, this.head(sort, title)]));
    this.release = h('th', { scope: 'col', hidden: true }, h('span', { class: 'lk-hidden' }, 'Release'));
    this.body = h('tbody');
    this.table = h('table', {}, h('thead', {}, h('tr', {}, ...this.heads.values(), this.release)), this.body);
    this.empty = h('p', { class: 'lk-empty' });
    const turn = (by) => () => this.ask({ page: Math.max(0, this.request.page + by) });
    this.previous = h('button', { type: 'button', onclick: turn(-1) }, 'Previous');
    this.next = h('button', { type: 'button', onclick: turn(1) }, 'Next');
    this.position = h('span', { 'aria-live': 'polite' });
    this.filter = h('input', {
      type: 'search',
      placeholder: 'Filter by name',
      'aria-label': 'Filter locks by name',
      maxlength: '100',
      oninput: () => {
        clearTimeout(this.typing);
        this.typing = setTimeout(() => this.ask({ q: this.filter.value, page: 0 }), TYPING_MS);
      },
    });
    this.buildDialog();
    this.showSort();
    this.draw();
  }

  head(sort, title) {
    const descendingFirst = sort === 'age' || sort === 'waiting';
    const clicked = () => {
      const dir =
        this.request.sort === sort ? (this.request.dir === 'asc' ? 'desc' : 'asc') : descendingFirst ? 'desc' : 'asc';
      this.ask({ sort, dir, page: 0 });
      this.showSort();
    };
    return h('th', { scope: 'col', 'data-column': sort }, h('button', { type: 'button', onclick: clicked }, title));
  }

  showSort() {
    for (const [sort, head] of this.heads) {
      const { dir } = this.request;
      if (sort === this.request.sort) head.setAttribute('aria-sort', dir === 'asc' ? 'ascending' : 'descending');
      else head.removeAttribute('aria-sort');
    }
  }

  ask(request) {
    Object.assign(this.request, request);
    this.changed();
  }

  draw() {
    const { order, rows, total, body } = this;
    const [chosen, all] = total;
    while (body.rows.length > order.length) body.deleteRow(-1);
    while (body.rows.length < order.length) body.append(this.emptyRow());
    this.tick();
    const pages = Math.max(1, Math.ceil(chosen / ROWS));
    const page = Math.min(this.request.page, pages - 1);
    this.request.page = page;
    this.previous.disabled = page === 0;
    this.next.disabled = page >= pages - 1;
    this.previous.parentElement?.toggleAttribute('hidden', pages === 1);
    setText(this.position, `Page ${page + 1} of ${count(pages)}, ${count(chosen)} locks`);
    this.table.hidden = rows.size === 0;
    this.empty.hidden = rows.size > 0;
    setText(this.empty, all > 0 ? 'No lock matches the filter.' : 'No lock is in use.');
  }

  emptyRow() {
    const name = h('span', { class: 'lk-name' });
    const key = h('code', { class: 'lk-key' });
    const button = h(
      'button',
      { type: 'button', class: 'lk-quiet', onclick: () => this.confirm(row.dataset.id) },
      'Release …',
    );
    const cells = COLUMNS.slice(1).map(([column]) => h('td', { 'data-column': column }));
    const row = h(
      'tr',
      {},
      h('th', { scope: 'row' }, name, key),
      ...cells,
      h('td', { 'data-column': 'release' }, button),
    );
    return row;
  }

  fill(element, row) {
    if (element === undefined || row === undefined) return;
    const { id, name, key, kind, holders, since, until, waiting, elsewhere } = row;
    element.dataset.id = id;
    const [head, kindCell, holder, age, left, wait, release] = element.cells;
    setText(head.firstChild, key || name);
    setText(head.lastChild, key === '' ? id : name);
    setText(kindCell, kind);
    const isHeld = holders.length > 0;
    const hasTicket = isDetached(elsewhere);
    const texts = holders.map(([place, times]) => this.holderText(place, times));
    if (!isHeld || hasTicket) texts.push(heldElsewhere(elsewhere) || '–');
    setText(holder, texts.join(', '));
    setText(age, isHeld ? duration(this.now() - since) : '–');
    const end = isHeld && !hasTicket ? until : Math.max(until, elsewhere?.[1] ?? 0);
    setText(left, end > 0 ? duration(end - this.now()) : elsewhere && !hasTicket ? 'no end' : '–');
    setText(wait, waiting === 0 ? '–' : count(waiting));
    release.hidden = !this.rights.allowForceRelease;
    release.firstChild.disabled = !isHeld && !hasTicket;
    release.firstChild.setAttribute('aria-label', `Release ${key || name} by force`);
  }

  holderText(place, times) {
    const { label, responds } = this.instances.get(place) ?? { label: '?', responds: false };
    return `${label}${times > 1 ? ` × ${times}` : ''}${responds ? '' : ' (does not answer)'}`;
  }

  buildDialog() {
    this.question = h('p', { id: 'lk-question' });
    this.effect = h('p');
    this.answer = h('p', { role: 'status' });
    const yes = h('button', { type: 'button', class: 'lk-danger', onclick: () => this.send() }, 'Release the lock');
    const no = h('button', { type: 'button', onclick: () => this.dialog.close() }, 'Cancel');
    this.yes = yes;
    this.dialog = h(
      'dialog',
      { 'aria-labelledby': 'lk-question' },
      this.question,
      this.effect,
      this.answer,
      h('div', { class: 'lk-buttons' }, no, yes),
    );
  }

  confirm(id) {
    const row = this.rows.get(id);
    if (row === undefined) return;
    this.chosen = id;
    setText(this.question, `Release ${row.name} ${row.key || id} by force?`);
    const effects = [];
    if (row.holders.length > 0) effects.push(HOLDER_LOSES);
    if (isDetached(row.elsewhere)) effects.push(TICKET_ENDS);
    setText(this.effect, effects.join(' '));
    setText(this.answer, '');
    this.yes.disabled = false;
    this.dialog.showModal();
  }

  async send() {
    this.yes.disabled = true;
    const response = await fetch(`${this.source}/release`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-requested-by': 'lock-dashboard' },
      body: JSON.stringify({ id: this.chosen }),
    }).catch(() => undefined);
    if (response?.ok) {
      this.dialog.close();
      return;
    }
    const { message } = (await response?.json().catch(() => ({}))) ?? {};
    setText(
      this.answer,
      `Not released: ${message ?? 'the lock is not in use any more, or this instance does not answer.'}`,
    );
  }
}
