/** The controls of the demo, above the page of locks. */
const REFRESH_MS = 1_000;

const EXPERIMENTS = [
  ['exclusive', 'Exclusive lock: one works, the others are refused'],
  ['wait', 'Exclusive lock: the others wait for their turn'],
  ['read', 'Read lock: readers share it'],
  ['write', 'Write lock: a writer works alone'],
  ['semaphore', 'Semaphore: two may work at once'],
  ['unlocked', 'No lock: the work overlaps'],
  ['stale', 'Stale write: the fencing token refuses it'],
];

const panel = document.getElementById('demo-controls');
const own = panel.dataset.instance;
const element = (tag, text = '') => Object.assign(document.createElement(tag), { textContent: text });

const kind = select('Request', EXPERIMENTS);
const target = select('To', [['both', 'both instances']]);
const work = select('Work', [
  ['500', '0.5 s'],
  ['1500', '1.5 s'],
  ['4000', '4 s'],
]);
work.field.value = '1500';
const send = button('Send 5 at once', () => void sendRequests(5));
const one = button('Send 1', () => void sendRequests(1));
const faults = element('div');
faults.className = 'demo-faults';
const answers = element('p');
answers.className = 'demo-answers';
answers.setAttribute('role', 'status');
const leader = element('p');
const ticks = element('ol');
ticks.className = 'demo-ticks';
const jobs = element('section');
jobs.className = 'demo-jobs';
jobs.setAttribute('aria-label', 'Jobs');
jobs.append(element('h3', 'Jobs'), leader, element('p', 'Every 5 s one instance runs the job:'), ticks);
const note = element('p');
note.className = 'lk-hint';
const row = element('div');
row.className = 'demo-row';
send.className = 'demo-send';
row.append(kind.label, target.label, work.label, send, one);
const heading = element('h2', 'Try it');
panel.append(heading, row, faults, answers, note, jobs);
panel.hidden = false;

function select(text, options) {
  const label = element('label', text);
  const field = document.createElement('select');
  field.name = text.toLowerCase();
  field.append(...options.map(([value, shown]) => new Option(shown, value)));
  label.append(field);
  return { label, field };
}

function button(text, clicked) {
  const made = element('button', text);
  made.type = 'button';
  made.addEventListener('click', clicked);
  return made;
}

async function call(path, body) {
  const headers = { 'content-type': 'application/json', 'x-requested-by': 'demo-page' };
  const options = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(`controls/${path}`, options);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.status === 204 ? undefined : response.json();
}

let instances = [];
let sendings = 0;

async function sendRequests(count) {
  const sending = ++sendings;
  const chosen = target.field.value;
  const to = chosen === 'both' ? instances.map(({ name }) => name) : [chosen];
  answers.textContent = 'Sent; waiting for the answers …';
  const body = { kind: kind.field.value, to, count, workMs: Number(work.field.value) };
  const text = await call('send', body).then(summary, () => 'This instance did not answer.');
  // Answers to earlier requests must not replace those to the latest.
  if (sending === sendings) answers.textContent = text;
}

const MEANING = {
  0: 'no answer, the instance was stopped',
  200: 'done',
  201: 'done',
  204: 'done',
  409: 'refused, another request has the lock',
  412: 'refused, the fencing token is older than one that was accepted',
  503: 'unavailable',
};

/** `A: 1 × 201 (done), 4 × 409 (refused …)`. */
function summary(list) {
  const names = [...new Set(list.map(({ instance }) => instance))];
  const parts = names.map((name) => {
    const counts = new Map();
    for (const { instance, status } of list) if (instance === name) counts.set(status, (counts.get(status) ?? 0) + 1);
    return `${name}: ${[...counts].map(([status, count]) => `${count} × ${status || 'none'} (${MEANING[status] ?? 'failed'})`).join(', ')}`;
  });
  return `Answers of ${parts.join('; ')}.`;
}

let shown = '';

async function refresh() {
  setTimeout(() => void refresh(), REFRESH_MS);
  let state;
  try {
    state = await call('state');
  } catch {
    return;
  }
  showJobs(state.jobs);
  // The fields and buttons stay as they are while a job runs, because new ones would lose the focus.
  const text = JSON.stringify({ ...state, jobs: undefined });
  if (text === shown) return;
  shown = text;
  instances = state.instances;
  const chosen = target.field.value;
  const targets = instances.length > 1 ? [['both', 'both instances']] : [];
  for (const { name } of instances) targets.push([name, `instance ${name}`]);
  target.field.replaceChildren(...targets.map(([value, label]) => new Option(label, value)));
  if (targets.some(([value]) => value === chosen)) target.field.value = chosen;
  showFaults(state);
}

function showJobs(board) {
  leader.textContent = board.leader === null ? 'No instance leads.' : `Instance ${board.leader} leads.`;
  ticks.replaceChildren(
    ...board.ticks.map(({ at, instance }) => element('li', `${new Date(at).toLocaleTimeString()} by ${instance}`)),
  );
}

function showFaults({ redis, redisPaused, shared }) {
  const act = (text, path, body) => button(text, () => void call(path, body).catch(() => undefined));
  const buttons = [];
  if (!shared) {
    for (const { name, running } of instances) {
      if (name === own) buttons.push(act(`Restart ${name}, the server of this page`, 'restart', { instance: name }));
      else if (running) buttons.push(act(`Crash ${name}`, 'stop', { instance: name }));
      else buttons.push(act(`Start ${name}`, 'start', { instance: name }));
    }
  }
  if (redis === 'private') {
    const pause = act(redisPaused ? 'Redis is paused …' : 'Pause Redis for 5 s', 'pause-redis', {});
    pause.disabled = redisPaused;
    buttons.push(pause);
  }
  faults.replaceChildren(...buttons);
  faults.hidden = buttons.length === 0;
  note.textContent = shared
    ? 'No Redis was found: both instances run in one process and share its memory. Start a redis-server to see two processes, and to stop them.'
    : '';
  note.hidden = note.textContent === '';
}

void refresh();
