// Runs that are under way: their steps on a line of time, to cancel or to go on.

import { at, get, post } from './api.js';
import { link, may, trouble } from './app.js';
import { badge, empty, fill, h, name, said, toast } from './dom.js';
import { clock, many, moment, short, since, took } from './format.js';
import { calm, follow } from './live.js';

const MOST = 50;

const seen = new Map(); // when a step was first seen here: the journal has no times

/** What a row of the journal says, in words: [title, detail, state]. */
function step(row) {
  const b = row.body ?? {};
  switch (row.kind) {
    case 'operation': return ['Asked', (b.input?.messages ?? []).flatMap((m) => m.contents ?? []).map((c) => c.text ?? c.$type).join(' ').slice(0, 200), 'ok'];
    case 'context': return ['Prepared', many((b.tools ?? []).length, 'tool'), 'ok'];
    case 'answer': {
      const calls = (b.messages ?? []).flatMap((m) => m.contents ?? []).filter((c) => /call/i.test(c.$type ?? c.type ?? '')).map((c) => c.name ?? c.$type);
      return ['The model answered', calls.length ? `calls ${calls.join(', ')}` : '', 'ok'];
    }
    case 'started': return ['Tool started', `call ${(b.call ?? 0) + 1}`, 'running'];
    case 'result': return ['Tool answered', `call ${(b.call ?? 0) + 1}`, b.failed ? 'error' : 'ok'];
    case 'attempt': return ['Taken over', 'another process goes on', 'waiting'];
    default: return [row.kind, '', 'idle'];
  }
}

/** The steps of a run on a line of time, as far as they were seen here. */
function steps(id, rows) {
  if (!rows.length) return h('p', { class: 'dim' }, 'No step is stored yet.');
  const now = Date.now();
  const ended = new Set(rows.filter((r) => r.kind === 'result').map((r) => r.body?.call));
  return h('ol', { class: 'steps' }, rows.map((row) => {
    const key = `${id} ${row.n}`;
    if (!seen.has(key)) seen.set(key, now);
    const [title, detail, state] = step(row);
    const isOpen = row.kind === 'started' && !ended.has(row.body?.call);
    return h('li', { class: isOpen ? 'is-open' : null }, badge(row.kind === 'started' && !isOpen ? 'ok' : state, title), h('span', null, said(detail)), h('span', { class: 'dim', title: `first seen here at ${clock(new Date(seen.get(key)).toISOString())}` }, isOpen ? took(now - seen.get(key)) : ''));
  }));
}

async function card(s, again) {
  const path = ['sessions', s.id];
  const [runs, journal] = await Promise.all([get(at([...path, 'runs'], { limit: 100 })), get(at([...path, 'journal'], { limit: 100 }))]);
  const open = runs.items.filter((r) => r.outcome === null);
  const attempts = journal.items.filter((r) => r.kind === 'attempt').length;
  const act = (run, verb, done) => async () => {
    try { await post(at([...path, 'runs', run, verb])); toast(done); } catch (why) { toast(`${why.message} ${why.hint ?? ''}`, true); }
    again();
  };
  const one = (r, i) => h('div', { class: 'run-row' }, badge(i === 0 ? 'running' : 'waiting', i === 0 ? 'at work' : 'queued'), h('code', { title: r.id }, short(r.id, 13)), h('span', { class: 'dim', title: moment(r.changed) }, since(r.changed)),
    may('run') ? h('span', { class: 'row' }, h('button', { type: 'button', class: 'plain', onclick: act(r.id, 'resume', 'The run goes on where it is due.') }, 'Resume'), h('button', { type: 'button', class: 'plain', onclick: act(r.id, 'cancel', 'The run is told to end.') }, 'Cancel')) : null);
  return h('section', { class: 'panel run', 'aria-label': s.id }, h('div', { class: 'head' }, h('h2', null, h('a', { href: link('session', [s.id]), 'data-row': true }, name(s.id))), h('span', { class: 'dim' }, s.agent ? name(s.agent) : '', ' ', many(open.length, 'run'), attempts > 0 ? h('span', { class: 'tag' }, `attempt ${attempts + 1}`) : null)),
    open.map(one), steps(s.id, journal.items));
}

export default async function runs(view, { isCurrent }) {
  const body = h('div', { class: 'stack' });
  async function load() {
    const list = await get(at(['sessions'], { state: 'running', limit: MOST }));
    const cards = await Promise.all(list.items.filter((s) => s.kind !== 'chat').map((s) => card(s, load).catch(() => null)));
    if (!isCurrent()) return;
    fill(body, cards.some(Boolean) ? cards : empty('No run is at work', 'Runs are here from the moment they begin until their answer is stored. What was said before is in their sessions.', h('a', { class: 'button', href: link('sessions') }, 'All sessions')),
      list.next ? h('p', { class: 'dim' }, `Only ${MOST} are shown. `, h('a', { href: link('sessions', [], { state: 'running' }) }, 'All of them')) : null);
  }
  await load();
  if (!isCurrent()) return null;
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Runs')), body);
  const again = calm(() => load().catch((why) => isCurrent() && fill(body, trouble(why, again))), 700);
  const timer = setInterval(again, 2000);
  const stop = follow(() => 'events', { event: again, again });
  return { close() { stop(); clearInterval(timer); seen.clear(); } };
}
