// Runs that are under way: their steps on a line of time, to cancel or to go on.
// The journal of a run has no times, so a step has that at which it came here,
// and steps that came together have one stretch. What was there before the page
// looked is hatched.

import { at, get, post } from './api.js';
import { link, may, trouble } from './app.js';
import { badge, button, empty, fill, h, name, plain, said, toast, update } from './dom.js';
import { clock, count, many, moment, short, since, took } from './format.js';
import { str } from './json.js';
import { calm, follow } from './live.js';

const MOST = 50; // sessions
const PAGE = 200; // rows of a journal that are read at once
const SOME = 30; // steps that are shown at first
const LOOK_MS = 15000;

const contents = (messages) => (Array.isArray(messages) ? messages : []).flatMap((m) => (Array.isArray(m?.contents) ? m.contents : []));

/** The run of a session: what its journal says, and when it came. */
class Work {
  constructor(epoch) {
    this.epoch = epoch;
    this.run = '';
    this.next = 1; // row of the journal
    this.steps = []; // {title, detail, state, from, to, isOld, isRough}; `to` 0: it goes on
    this.calls = []; // of tools, in order: {name, text}
    this.tools = new Map(); // by number of the call: its step
    this.attempts = 1;
    this.last = 0; // when the last row came
    this.isAll = false;
  }

  /** Take a row that came now, with others; `isOld`: it was there before the page looked. */
  take(row, now, isOld, isRough) {
    const b = row.body ?? {};
    const add = (title, detail, state, more) => this.steps.push({ title, detail: str(detail), state, from: this.last || now, to: now, isOld, isRough, ...more });
    this.next = row.n + 1;
    this.run = row.correlationId ?? this.run;
    switch (row.kind) {
      case 'operation': add('Asked', contents(b.input?.messages).map((c) => str(c.text ?? c.$type)).join(' ').slice(0, 200), 'ok'); break;
      case 'context': add('Prepared', many((b.tools ?? []).length, 'tool'), 'ok'); break;
      case 'answer': {
        const calls = contents(b.messages).filter((c) => /call$/i.test(str(c.$type ?? c.type))).map((c) => ({ name: str(c.name ?? c.$type), text: str(c.arguments).slice(0, 200) }));
        this.calls.push(...calls);
        add('The model', calls.length ? `calls ${calls.map((c) => c.name).join(', ')}` : 'answers', 'ok');
        break;
      }
      case 'started':
        add(this.calls[b.call]?.name ?? 'A tool', this.calls[b.call]?.text || `call ${b.call + 1}`, 'running', { from: now, to: 0, isRough: false });
        this.tools.set(b.call, this.steps.at(-1));
        break;
      case 'result': {
        const of = this.tools.get(b.call);
        if (of) Object.assign(of, { to: now, state: b.failed ? 'error' : 'ok' });
        break;
      }
      case 'attempt':
        for (const s of this.steps) if (!s.to) Object.assign(s, { to: now, state: 'waiting', detail: `${s.detail}, broken off` });
        add('Taken over', 'another process goes on', 'waiting', { from: now });
        this.attempts++;
        break;
      default:
    }
  }
}

/** The steps on a line from the moment at which the run was sent until now. */
function steps(work, sent, isOpen, more) {
  const now = Date.now();
  const begin = Math.min(Date.parse(sent) || now, ...work.steps.map((s) => s.from));
  const all = Math.max(1000, now - begin);
  const list = isOpen && !work.steps.some((s) => !s.to) ? [...work.steps, { title: 'The model', detail: 'is at work', state: 'running', from: work.last || now, to: 0 }] : work.steps;
  const hidden = work.isAll ? 0 : Math.max(0, list.length - SOME);
  const row = (s, i) => {
    const line = h('span', { class: `span is-${s.state}${s.isOld ? ' is-old' : ''}` });
    line.style.left = `${(100 * ((s.isOld ? begin : s.from) - begin)) / all}%`;
    line.style.width = `${Math.max(0.6, (100 * ((s.to || now) - (s.isOld ? begin : s.from))) / all)}%`;
    const when = s.isOld ? `before ${clock(s.to || s.from)}, when this page looked` : `${clock(s.from)} to ${s.to ? clock(s.to) : 'now'}`;
    return h('li', { 'data-key': String(hidden + i), class: s.to ? null : 'is-open' }, badge(s.state, name(s.title)), h('span', { class: 'detail' }, said(s.detail)),
      h('span', { class: 'track', title: when }, line), h('span', { class: 'dim num' }, s.isOld && s.to ? h('span', { title: when }, 'earlier') : `${s.isRough ? '≤ ' : ''}${took((s.to || now) - s.from)}`));
  };
  return [hidden ? h('button', { type: 'button', class: 'link', onclick: () => { work.isAll = true; more(); } }, `${many(hidden, 'earlier step')}`) : null,
    work.steps.length ? h('ol', { class: 'steps' }, list.slice(hidden).map(row)) : h('p', { class: 'dim' }, 'No step is stored yet.')];
}

export default async function runs(view, { isCurrent }) {
  const body = h('div', { class: 'stack' });
  const works = new Map(); // by session
  const failed = new Map(); // by session: why it could not be read
  const dirty = new Set(); // sessions whose journal has changed
  let list = null; // of sessions
  let isAsking = false;
  let isBlind = true; // what changed lately was not heard of
  let problem = null; // why the list could not be read last

  async function read(s) {
    const path = ['sessions', s.id];
    let work = works.get(s.id);
    const isNew = !work || work.epoch !== s.epoch;
    if (isNew) work = new Work(s.epoch);
    const open = await get(at([...path, 'runs'], { open: 'true' }));
    const rows = [];
    for (let cursor = ''; cursor !== null;) {
      const page = await get(at([...path, 'journal'], { limit: PAGE, from: work.next, cursor }));
      rows.push(...page.items);
      cursor = page.next;
    }
    const now = Date.now();
    if (rows[0] && rows[0].correlationId !== work.run) {
      work = new Work(s.epoch);
      const sent = Date.parse(open.items.find((r) => r.id === rows[0].correlationId)?.changed);
      work.last = sent > now - 60000 && sent < now ? sent : now; // two clocks
    }
    for (const row of rows) work.take(row, now, isNew && isBlind, rows.length > 1);
    if (rows.length) work.last = now;
    work.open = open.items;
    works.set(s.id, work);
    failed.delete(s.id);
  }

  function card(s) {
    const work = works.get(s.id);
    const bad = failed.get(s.id);
    if (!work && !bad) return null;
    const path = ['sessions', s.id];
    const act = (run, verb, done) => async () => {
      await post(at([...path, 'runs', run, verb]));
      toast(done);
      dirty.add(s.id);
      again();
    };
    const one = (r) => {
      const isAtWork = r.id === work.run;
      return h('div', { class: 'run-row', 'data-key': r.id }, badge(isAtWork ? 'running' : 'waiting', isAtWork ? 'at work' : 'queued'), h('code', { title: plain(r.id) }, name(short(r.id, 13))), h('span', { class: 'dim', title: moment(r.changed) }, `sent ${since(r.changed)}`),
        may('run') ? h('span', { class: 'row' }, isAtWork ? button({ class: 'plain' }, act(r.id, 'resume', 'The run goes on where it is due.'), 'Resume') : null, button({ class: 'plain' }, act(r.id, 'cancel', 'The run is told to end.'), 'Cancel')) : null);
    };
    const current = work?.open.find((r) => r.id === work.run);
    return h('section', { class: 'panel run', 'data-key': s.id, 'aria-label': plain(s.id) }, h('div', { class: 'head' }, h('h2', null, h('a', { href: link('session', [s.id]), 'data-row': true }, name(s.id))),
      h('span', { class: 'row dim' }, s.agent ? h('span', null, name(s.agent)) : null, work ? h('span', null, many(work.open.length, 'run')) : null, work?.attempts > 1 ? h('span', { class: 'tag' }, `attempt ${work.attempts}`) : null)),
    bad ? h('p', { class: 'bad', 'data-key': 'bad' }, 'A run is at work here, and its steps could not be read: ', said(bad.message)) : null,
    work ? [work.open.map(one), steps(work, current?.changed ?? s.changed, Boolean(current), draw)] : null);
  }

  function draw() {
    if (!list || problem || !isCurrent() || document.hidden) return;
    const cards = list.items.map(card).filter(Boolean);
    update(body, cards.length ? cards : empty('No run is at work', 'Runs are here from the moment they begin until their answer is stored. What was said before is in their sessions.', h('a', { class: 'button', href: link('sessions') }, 'All sessions')),
      list.next ? h('p', { class: 'dim', 'data-key': 'more' }, `Only ${count(MOST)} sessions are shown. `, h('a', { href: link('sessions', [], { state: 'running' }) }, 'All of them')) : null);
  }

  async function load() {
    if (isAsking) { again(); return; }
    isAsking = true;
    try {
      const now = await get(at(['sessions'], { state: 'running', limit: MOST }));
      now.items = now.items.filter((s) => s.kind !== 'chat');
      const here = new Set(now.items.map((s) => s.id));
      for (const of of [works, failed]) for (const id of of.keys()) if (!here.has(id)) of.delete(id);
      const due = now.items.filter((s) => !works.has(s.id) || dirty.has(s.id));
      dirty.clear();
      await Promise.all(due.map((s) => read(s).catch((why) => {
        if (why.status === 404) return;
        dirty.add(s.id);
        failed.set(s.id, why);
      })));
      isBlind = false;
      problem = null;
      list = now;
      draw();
    } finally { isAsking = false; }
  }

  const again = calm(() => load().catch((why) => {
    if (!isCurrent() || why.status === 0) return;
    problem = why;
    fill(body, trouble(why, again));
  }), 250);
  const all = () => { for (const id of works.keys()) dirty.add(id); again(); };
  await load();
  if (!isCurrent()) return null;
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Runs')), body);
  const clockwork = setInterval(draw, 1000);
  document.addEventListener('visibilitychange', draw);
  const timer = setInterval(all, LOOK_MS);
  const stop = follow(() => 'events', {
    event(event) {
      if (event.event !== 'session') { isBlind = true; all(); return; }
      dirty.add(JSON.parse(event.data).id);
      again();
    },
    gone: (why) => { problem = why; fill(body, trouble(why)); },
  });
  return { close() { stop(); clearInterval(timer); clearInterval(clockwork); document.removeEventListener('visibilitychange', draw); } };
}
