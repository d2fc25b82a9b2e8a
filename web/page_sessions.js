// All sessions: found by what the URL says, a page at a time.

import { at, get, save, send } from './api.js';
import { here, link, may, trouble } from './app.js';
import { badge, button, confirm, empty, fill, h, icon, name, own, plain, toast, update } from './dom.js';
import { count, moment, since } from './format.js';
import { calm, follow } from './live.js';

const LIMIT = 100;
const STATES = ['idle', 'running', 'waiting', 'expired'];
const FEW = 5; // rows that are asked for one by one
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
    if (!await confirm('Delete this session?', [name(s.id), ' and all that was said in it are gone then, for everybody.'], 'Delete it')) return;
    await send('DELETE', at(['sessions', s.id]), { headers: { 'If-Match': s.etag } });
    toast('The session is deleted.');
    again();
  };
  const to = s.kind === 'chat' ? link('chat', [s.id]) : link('session', [s.id]);
  const isGone = s.state === 'deleted';
  return h('tr', { 'data-key': s.id, 'data-id': s.id, class: isGone ? 'gone' : null },
    h('td', { class: 'cell-state' }, badge(isGone ? 'error' : s.state, s.state)),
    h('td', { class: 'cell-id', title: plain(s.id) }, h('a', { href: to, 'data-row': true }, name(s.id))),
    h('td', { class: 'cell-agent' }, s.agent ? name(s.agent) : h('span', { class: 'dim' }, s.kind)),
    h('td', { class: 'num' }, count(s.entries)),
    h('td', { class: 'cell-time', title: moment(s.changed) }, since(s.changed)),
    h('td', { class: 'cell-time cell-expires', title: s.expires ? moment(s.expires) : null }, s.expires ? since(s.expires) : h('span', { class: 'dim' }, 'never')),
    h('td', { class: 'cell-do' }, isGone ? null : [
      button({ class: 'quiet', title: 'Download', 'aria-label': `Download ${plain(s.id)}` }, () => save(at(s.kind === 'chat' ? ['chats', s.id, 'saved'] : ['sessions', s.id, 'state']), `${s.id}.json`), icon('file')),
      may('write') ? button({ class: 'quiet', title: 'Delete', 'aria-label': `Delete ${plain(s.id)}` }, remove, icon('cross')) : null]));
}

export default async function sessions(view, { isCurrent }) {
  let wanted = {};
  let cursor = '';
  let shown = []; // the sessions of the table
  let fresh = new Set(); // others that changed
  let loads = 0;
  const body = h('tbody');
  const caption = h('caption', { class: 'away' });
  const foot = h('div', { class: 'pager' });
  const news = h('div', { class: 'news', role: 'status' });
  const table = own(h('table', { class: 'list sessions' }, caption,
    h('thead', null, h('tr', null, ['State', 'Session', 'Agent', 'Entries', 'Changed', 'Expires', ''].map((t, i) => h('th', { scope: 'col', class: ['', '', 'cell-agent', 'num', '', 'cell-expires', ''][i] || null }, t || h('span', { class: 'away' }, 'Actions'))))), body));
  const box = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Sessions' });
  const agents = h('datalist', { id: 'agents' });

  const go = (more) => { location.hash = link('sessions', [], { ...wanted, ...more }); };
  const boxes = {};
  const field = (id, label, el) => { el.id = `f-${id}`; boxes[id] = el; return h('div', { class: `field f-${id}` }, h('label', { for: el.id }, label), el); };
  const input = (id, props) => h('input', { onchange: (e) => go({ [id]: e.target.value.trim() }), ...props });
  const clear = h('a', { class: 'button plain', href: link('sessions') }, 'Clear');
  const more = h('button', { type: 'button', class: 'plain more', 'aria-expanded': 'false', onclick: () => open(!form.classList.contains('is-open')) }, 'Filters');
  const open = (isOpen) => { form.classList.toggle('is-open', isOpen); more.setAttribute('aria-expanded', String(isOpen)); };
  const form = h('form', { class: 'filters', role: 'search', onsubmit: (e) => e.preventDefault() },
    field('idPrefix', 'Id begins with', input('idPrefix', { type: 'search', placeholder: '@dafx-', 'data-search': true, spellcheck: 'false' })), more,
    field('agent', 'Agent', input('agent', { type: 'search', list: 'agents', spellcheck: 'false' })), agents,
    field('state', 'State', h('select', { onchange: (e) => go({ state: e.target.value }) }, h('option', { value: '' }, 'any'), STATES.map((s) => h('option', { value: s }, s)))),
    field('property', 'Property', input('property', { type: 'search', placeholder: 'team=garden', spellcheck: 'false' })),
    field('changedFrom', 'Changed from', input('changedFrom', { type: 'date' })),
    field('changedTo', 'to', input('changedTo', { type: 'date' })), clear);

  const ask = () => get(at(['sessions'], { ...wanted, changedFrom: day(wanted.changedFrom, 0), changedTo: day(wanted.changedTo, 1), limit: LIMIT, cursor }));
  const draw = () => update(body, shown.map((s) => row(s, load)));

  async function load() {
    const mine = ++loads;
    let list;
    try { list = await ask(); } catch (why) {
      if (mine === loads) fill(box, trouble(why, load));
      return;
    }
    if (mine !== loads || !isCurrent()) return;
    const isFiltered = FIELDS.some((f) => wanted[f]);
    fresh = new Set();
    fill(news);
    shown = list.items;
    draw();
    fill(caption, wanted.idPrefix || wanted.property ? 'Sessions, in the order of their ids' : 'Sessions, the last changed first');
    if (shown.length) update(box, table);
    else if (isFiltered || cursor) fill(box, empty('Nothing fits', 'No session has all of that.', h('a', { class: 'button', href: link('sessions') }, 'Show all sessions')));
    else fill(box, empty('No sessions yet', 'Say something to an agent, and its session is here:',
      h('pre', null, `curl -d 'Hello' ${location.origin}/api/agents/NAME/run?session_id=first`), may('run') ? h('a', { class: 'button', href: link('agents') }, 'Try an agent') : ''));
    update(foot, h('span', { class: 'dim' }, shown.length ? `${count(shown.length)} shown` : ''),
      h('span', { class: 'row' }, cursor ? h('a', { class: 'button plain', href: link('sessions', [], wanted) }, 'First page') : null,
        list.next ? h('a', { class: 'button', href: link('sessions', [], { ...wanted, cursor: list.next }) }, 'Next page') : null));
  }

  /** What the address asks for. */
  async function turn({ query }) {
    wanted = Object.fromEntries(FIELDS.map((f) => [f, query.get(f) ?? '']));
    cursor = query.get('cursor') ?? '';
    for (const f of FIELDS) {
      const can = boxes[f].type === 'date' && !/^\d{4}-\d\d-\d\d$/.test(wanted[f]) ? '' : wanted[f];
      if (boxes[f].value.trim() !== can) boxes[f].value = can;
    }
    if (FIELDS.some((f) => f !== 'idPrefix' && wanted[f])) open(true);
    clear.hidden = !FIELDS.some((f) => wanted[f]);
    await load();
  }

  // Rows that are shown change where they stand; others are only counted, so
  // that nothing moves under the pointer. Of many rows at once the page is
  // listed again, in one request; of a few, each is asked for once. Whether
  // others belong to a list of some is known by listing it again, too.
  const stale = new Set();
  let isAsking = false;
  let isDue = false;
  const settle = calm(async () => {
    if (!isCurrent()) return;
    if (isAsking) { isDue = true; return; }
    isAsking = true;
    isDue = false;
    const mine = loads;
    const isPart = fresh.size > 0 && (cursor || FIELDS.some((f) => wanted[f]));
    const ids = [...stale];
    const others = [...fresh];
    stale.clear();
    if (isPart) fresh.clear();
    try {
      const known = new Map();
      if (ids.length > FEW || isPart) for (const s of (await ask()).items) known.set(s.id, s);
      if (mine === loads && isPart) for (const id of known.keys()) if (!shown.some((s) => s.id === id)) fresh.add(id);
      if (ids.length <= FEW) {
        await Promise.all(ids.filter((id) => !known.has(id)).map(async (id) => known.set(id, await get(at(['sessions', id])).catch((why) => {
          if (why.status === 404) return { ...shown.find((s) => s.id === id), state: 'deleted' };
          throw why;
        }))));
      }
      if (mine === loads) {
        for (const id of ids) if (!known.has(id)) fresh.add(id); // it is on another page by now
        shown = shown.map((s) => known.get(s.id) ?? s);
        draw();
      }
    } catch {
      for (const id of ids) stale.add(id);
      if (mine === loads) for (const id of others) fresh.add(id);
    }
    if (mine === loads) fill(news, fresh.size ? h('button', { type: 'button', onclick: load }, `${count(fresh.size)} changed. Show`) : '');
    isAsking = false;
    if (stale.size || isDue) settle();
  }, 400);

  function onEvent(event) {
    if (event.event === 'list') { // what came between is not known
      stale.clear();
      load();
      return;
    }
    if (event.event !== 'session') return;
    const { id, state } = JSON.parse(event.data);
    const isShown = shown.some((s) => s.id === id);
    if (!isShown && state !== 'deleted') fresh.add(id);
    else if (isShown && state === 'deleted') { shown = shown.map((s) => (s.id === id ? { ...s, state } : s)); draw(); } else if (isShown) stale.add(id);
    settle();
  }

  await turn(here());
  if (!isCurrent()) return null;
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Sessions'), news), form, box, foot);
  get('agents').then((list) => fill(agents, list.items.map((a) => h('option', { value: a.name }))), () => {});
  return { turn, close: follow(() => 'events', { event: onEvent, gone: (why) => fill(box, trouble(why)) }) };
}
