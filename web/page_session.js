// One session: its conversation, live; its bag; its entries; its document.

import { at, get, send } from './api.js';
import { link, may, stay, trouble } from './app.js';
import { badge, confirm, empty, fill, h, icon, name, toast } from './dom.js';
import { count, many, moment, since } from './format.js';
import { follow } from './live.js';

const TABS = [['talk', 'Conversation', () => import('./tab_talk.js')], ['bag', 'Bag', () => import('./tab_bag.js')],
  ['entries', 'Entries', () => import('./tab_entries.js')], ['raw', 'Raw', () => import('./tab_raw.js')]];
const LOOK_MS = 15000; // what no event tells, as an import, is noticed by then

export default async function session(view, { args, query, isCurrent }) {
  const id = args.join('/');
  const path = ['sessions', id];
  let head = await get(at(path));
  if (!isCurrent()) return null;
  const agents = await get('agents').then((l) => l.items, () => []);
  if (!isCurrent()) return null;
  const wanted = query.get('tab') ?? 'talk';
  const chosen = TABS.find(([t]) => t === wanted) ?? TABS[0];

  const facts = h('div', { class: 'facts' });
  const tabs = h('nav', { class: 'tabs', 'aria-label': 'Parts of the session' }, TABS.map(([t, title]) => h('a', { href: link('session', args, { tab: t === 'talk' ? '' : t }), 'aria-current': t === chosen[0] ? 'true' : null }, title)));
  const body = h('div', { class: `tab tab-${chosen[0]}` });
  let tab = {};
  let isGone = false;

  function drawHead() {
    const expires = head.expires ? h('span', { title: moment(head.expires) }, `expires ${since(head.expires)}`) : null;
    fill(facts, isGone ? badge('error', 'deleted') : badge(head.state), head.agent ? h('a', { href: link('agents', [head.agent]) }, name(head.agent)) : h('span', null, head.kind),
      h('span', null, many(head.entries, 'entry', 'entries')), h('span', { title: `epoch ${head.epoch}` }, `revision ${count(head.revision)}`),
      h('span', { title: moment(head.changed) }, `changed ${since(head.changed)}`), expires,
      Object.entries(head.properties ?? {}).map(([k, v]) => h('a', { class: 'tag', href: link('sessions', [], { property: `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}` }) }, name(`${k}: ${typeof v === 'string' ? v : JSON.stringify(v)}`))));
  }

  /** Look at what the session is now; tells the tab if it is another one. */
  async function look() {
    if (isGone) return head;
    try {
      const now = await get(at(path));
      const changed = now.etag !== head.etag || now.state !== head.state;
      head = now;
      drawHead();
      if (changed) await tab.changed?.(head);
    } catch (why) {
      if (why.status === 404) gone();
    }
    return head;
  }

  function gone() {
    if (isGone) return;
    isGone = true;
    drawHead();
    tab.gone?.();
    view.querySelector('.head')?.after(h('div', { class: 'notice bad', role: 'alert' }, 'This session was deleted. What you see is what it was.', h('a', { class: 'button plain', href: link('sessions') }, 'All sessions')));
  }

  async function remove() {
    if (!await confirm('Delete this session?', `${id} and all that was said in it are gone then, for everybody.`, 'Delete it')) return;
    try {
      await send('DELETE', at(path), { headers: { 'If-Match': head.etag } });
      toast('The session is deleted.');
      location.hash = link('sessions');
    } catch (why) { toast(`${why.message} ${why.hint ?? ''}`, true); look(); }
  }

  fill(view, h('div', { class: 'head' }, h('div', { class: 'title' }, h('a', { class: 'back', href: link('sessions') }, 'Sessions'), h('h1', null, name(id))),
    h('div', { class: 'row' }, h('a', { class: 'button plain', href: `/api/v1/${at([...path, 'state'])}`, download: `${id.replace(/[^\w.-]+/g, '_')}.json` }, icon('file'), 'Download'),
      may('write') ? h('button', { type: 'button', class: 'plain', onclick: remove }, 'Delete') : null)), facts, tabs, body);
  view.classList.toggle('is-talk', chosen[0] === 'talk');
  drawHead();
  if (head.kind === 'chat') fill(body, empty('This is a chat of several agents', h('a', { class: 'button', href: link('chat', [id]) }, 'Show its lanes')));
  fill(body, h('div', { class: 'loading', role: 'status' }, 'Loading'));
  const module = await chosen[2]();
  if (!isCurrent()) return null;
  try {
    tab = await module.default(body, { id, path, head: () => head, look, agent: agents.find((a) => a.name.toLowerCase() === (head.agent ?? '').toLowerCase()), query, stay }) ?? {};
  } catch (why) {
    fill(body, trouble(why, () => location.reload()));
  }

  // A session at work is heard from its first event that is kept, so that what
  // was said before the page was opened is there; another from now on.
  const start = head.state === 'running' || !head.events ? 0 : head.events.next - 1;
  const stop = follow((last) => at([...path, 'events'], { after: last || start }), {
    event: (event) => tab.event?.(event, look), again: look, gone: (why) => (why.status === 404 ? gone() : toast(`${why.message} ${why.hint ?? ''}`, true)),
  });
  const timer = setInterval(look, LOOK_MS);
  return { close() { stop(); clearInterval(timer); tab.close?.(); view.classList.remove('is-talk'); } };
}
