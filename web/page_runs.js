// Runs that are under way: their steps on a line of time, to cancel or to go on.

import { at, get, post } from './api.js';
import { link, may, trouble } from './app.js';
import { badge, empty, fill, h, name, toast } from './dom.js';
import { clock, many, moment, short, since, took } from './format.js';
import { calm, follow } from './live.js';

const MOST = 50;

/** Steps of a run: what was done, when, and how long it took until the next. */
function steps(items) {
  if (!items.length) return h('p', { class: 'dim' }, 'No step is stored yet.');
  const times = items.map((i) => Date.parse(i.created));
  const from = times[0];
  const all = Math.max(1, Date.now() - from);
  return h('ol', { class: 'steps' }, items.map((item, i) => {
    const begin = i === 0 ? from : times[i - 1];
    const place = h('progress', { class: 'span', max: 100, value: Math.min(100, Math.max(1, (100 * (times[i] - begin)) / all)), 'aria-hidden': 'true' });
    return h('li', null, h('time', { datetime: item.created, title: moment(item.created) }, clock(item.created)), h('b', null, name(item.step ?? item.kind)), item.name ? h('code', null, name(item.name)) : null, place, h('span', { class: 'dim' }, i ? `+${took(times[i] - begin)}` : ''));
  }));
}

async function card(s, again) {
  const path = ['sessions', s.id];
  const [runs, journal] = await Promise.all([get(at([...path, 'runs'], { limit: 100 })), get(at([...path, 'journal'], { limit: 100 }))]);
  const open = runs.items.filter((r) => ['queued', 'delayed', 'running'].includes(r.state ?? r.outcome?.state));
  const act = (run, verb, done) => async () => {
    try { await post(at([...path, 'runs', run, verb])); toast(done); } catch (why) { toast(`${why.message} ${why.hint ?? ''}`, true); }
    again();
  };
  const one = (r) => h('div', { class: 'run-row' }, badge((r.state ?? r.outcome?.state) === 'running' ? 'running' : 'waiting', r.state ?? r.outcome?.state), h('code', { title: r.id }, short(r.id, 13)), r.attempt > 1 ? h('span', { class: 'tag' }, `attempt ${r.attempt}`) : null, h('span', { class: 'dim' }, since(r.changed)),
    may('run') ? h('span', { class: 'row' }, h('button', { type: 'button', class: 'plain', onclick: act(r.id, 'resume', 'The run goes on where it is due.') }, 'Resume'), h('button', { type: 'button', class: 'plain', onclick: act(r.id, 'cancel', 'The run is told to end.') }, 'Cancel')) : null);
  return h('section', { class: 'panel run', 'aria-label': s.id }, h('div', { class: 'head' }, h('h2', null, h('a', { href: link('session', [s.id]), 'data-row': true }, name(s.id))), h('span', { class: 'dim' }, s.agent ? name(s.agent) : '', ' ', many(open.length, 'run'))),
    open.map(one), steps(journal.items));
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
  return { close: follow(() => 'events', { event: again, again }) };
}
