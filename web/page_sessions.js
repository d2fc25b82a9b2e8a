// All sessions: found by what the URL says, a page at a time, newest first.

import { at, get, send } from './api.js';
import { link, may, trouble } from './app.js';
import { badge, confirm, empty, fill, h, icon, name, toast } from './dom.js';
import { count, moment, since } from './format.js';
import { calm, follow } from './live.js';

const LIMIT = 100;
const STATES = ['idle', 'running', 'waiting', 'expired'];
const FIELDS = ['idPrefix', 'agent', 'state', 'property', 'changedFrom', 'changedTo'];

/** A day of the box as the moment at which it begins, or ends, here. */
function day(text, plus) {
  const date = text ? new Date(`${text}T00:00:00`) : null;
  if (!date || Number.isNaN(date.getTime())) return text || undefined;
  date.setDate(date.getDate() + plus);
  return date.toISOString();
}

function row(s, again) {
  const remove = async () => {
    if (!await confirm('Delete this session?', `${s.id} and all that was said in it are gone then, for everybody.`, 'Delete it')) return;
    try {
      await send('DELETE', at(['sessions', s.id]), { headers: { 'If-Match': s.etag } });
      toast('The session is deleted.');
      again();
    } catch (why) { toast(`${why.message} ${why.hint ?? ''}`, true); }
  };
  const to = s.kind === 'chat' ? link('chat', [s.id]) : link('session', [s.id]);
  return h('tr', { 'data-id': s.id },
    h('td', { class: 'cell-state' }, badge(s.state)),
    h('td', { class: 'cell-id' }, h('a', { href: to, 'data-row': true }, name(s.id))),
    h('td', { class: 'cell-agent' }, s.agent ? name(s.agent) : h('span', { class: 'dim' }, s.kind)),
    h('td', { class: 'num' }, count(s.entries)),
    h('td', { class: 'cell-time', title: moment(s.changed) }, since(s.changed)),
    h('td', { class: 'cell-time cell-expires', title: s.expires ? moment(s.expires) : null }, s.expires ? since(s.expires) : h('span', { class: 'dim' }, 'never')),
    h('td', { class: 'cell-do' },
      h('a', { class: 'quiet', href: `/api/v1/${at(['sessions', s.id, 'state'])}`, download: `${s.id.replace(/[^\w.-]+/g, '_')}.json`, title: 'Download', 'aria-label': `Download ${s.id}` }, icon('file')),
      may('write') ? h('button', { type: 'button', class: 'quiet', title: 'Delete', 'aria-label': `Delete ${s.id}`, onclick: remove }, icon('cross')) : null));
}

export default async function sessions(view, { query, isCurrent }) {
  const wanted = Object.fromEntries(FIELDS.map((f) => [f, query.get(f) ?? '']));
  const cursor = query.get('cursor') ?? '';
  const body = h('tbody');
  const foot = h('div', { class: 'pager' });
  const news = h('div', { class: 'news' });
  const box = h('div', { class: 'scroll' });
  const agents = h('datalist', { id: 'agents' });
  let fresh = new Set();

  const go = (more) => { location.hash = link('sessions', [], { ...wanted, ...more }); };
  const field = (id, label, el) => { el.id = `f-${id}`; return h('div', { class: `field f-${id}` }, h('label', { for: el.id }, label), el); };
  const input = (id, props) => h('input', { value: wanted[id], onchange: (e) => go({ [id]: e.target.value.trim() }), ...props });
  const isFiltered = FIELDS.some((f) => wanted[f]);

  const form = h('form', { class: 'filters', role: 'search', onsubmit: (e) => e.preventDefault() },
    field('idPrefix', 'Id begins with', input('idPrefix', { type: 'search', placeholder: '@dafx-', 'data-search': true, spellcheck: 'false' })),
    field('agent', 'Agent', input('agent', { type: 'search', list: 'agents', spellcheck: 'false' })), agents,
    field('state', 'State', h('select', { onchange: (e) => go({ state: e.target.value }) }, h('option', { value: '' }, 'any'), STATES.map((s) => h('option', { value: s, selected: s === wanted.state }, s)))),
    field('property', 'Property', input('property', { type: 'search', placeholder: 'team=garden', spellcheck: 'false' })),
    field('changedFrom', 'Changed from', input('changedFrom', { type: 'date' })),
    field('changedTo', 'to', input('changedTo', { type: 'date' })),
    isFiltered ? h('a', { class: 'button plain', href: link('sessions') }, 'Clear') : null);

  async function load() {
    let list;
    try {
      list = await get(at(['sessions'], { ...wanted, changedFrom: day(wanted.changedFrom, 0), changedTo: day(wanted.changedTo, 1), limit: LIMIT, cursor }));
    } catch (why) {
      fill(box, trouble(why, load));
      return;
    }
    fresh = new Set();
    fill(news);
    if (list.items.length === 0) {
      fill(box, isFiltered || cursor ? empty('Nothing fits', 'No session has all of that.', h('a', { class: 'button', href: link('sessions') }, 'Show all sessions'))
        : empty('No sessions yet', 'Say something to an agent, and its session is here:',
          h('pre', null, `curl -d 'Hello' ${location.origin}/api/agents/NAME/run?session_id=first`), h('a', { class: 'button', href: link('agents') }, 'Try an agent')));
    } else {
      fill(body, list.items.map((s) => row(s, load)));
      fill(box, h('table', { class: 'list sessions' }, h('caption', { class: 'away' }, 'Sessions, the last changed first'),
        h('thead', null, h('tr', null, ['State', 'Session', 'Agent', 'Entries', 'Changed', 'Expires', ''].map((t, i) => h('th', { scope: 'col', class: ['', '', 'cell-agent', 'num', '', 'cell-expires', ''][i] || null }, t || h('span', { class: 'away' }, 'Actions'))))), body));
    }
    fill(foot, h('span', { class: 'dim' }, list.items.length ? `${count(list.items.length)} shown` : ''),
      h('span', { class: 'row' }, cursor ? h('a', { class: 'button plain', href: link('sessions', [], wanted) }, 'First page') : null,
        list.next ? h('a', { class: 'button', href: link('sessions', [], { ...wanted, cursor: list.next }) }, 'Next page') : null));
  }

  // Rows that are shown change where they stand; others are only counted, so
  // that nothing moves under the pointer.
  const tell = calm(() => {
    if (fresh.size) fill(news, h('button', { type: 'button', onclick: load }, `${count(fresh.size)} changed. Show`));
  }, 250);
  function onEvent(event) {
    if (event.event !== 'session') return;
    const news = JSON.parse(event.data);
    const tr = [...body.children].find((r) => r.dataset.id === news.id);
    if (!tr) { fresh.add(news.id); tell(); return; }
    if (news.state === 'deleted') { tr.classList.add('gone'); fill(tr.firstChild, badge('error', 'deleted')); return; }
    get(at(['sessions', news.id])).then((s) => tr.isConnected && tr.replaceWith(row(s, load)), () => {});
  }

  await load();
  if (!isCurrent()) return null;
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Sessions'), news), form, box, foot);
  get('agents').then((list) => fill(agents, list.items.map((a) => h('option', { value: a.name }))), () => {});
  return { close: follow(() => 'events', { event: onEvent, again: load }) };
}
