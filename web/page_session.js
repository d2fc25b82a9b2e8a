// One session: its conversation, live; its bag; its entries; its document.

import { at, get, save, send } from './api.js';
import { link, may, stay, trouble } from './app.js';
import { badge, button, confirm, empty, fail, fill, h, icon, name, plain, toast, update } from './dom.js';
import { count, many, moment, since } from './format.js';
import { read, str } from './json.js';
import { calm, follow } from './live.js';
import bag from './tab_bag.js';
import entries from './tab_entries.js';
import raw from './tab_raw.js';
import talk from './tab_talk.js';

const TABS = [['talk', 'Conversation', talk], ['bag', 'Bag', bag], ['entries', 'Entries', entries], ['raw', 'Raw', raw]];
const LOOK_MS = 15000; // what no event tells, as an import, is noticed by then
const RETRY_MS = 2000;

export default async function session(view, { args, query, isCurrent }) {
  const id = args.join('/');
  const path = ['sessions', id];
  let head = await get(at(path));
  const agents = await get('agents').then((l) => l.items, () => []);
  if (!isCurrent()) return null;
  const mine = agents.find((a) => a.name.toLowerCase() === (head.agent ?? '').toLowerCase());
  const facts = h('div', { class: 'facts' });
  const nav = h('nav', { class: 'tabs', 'aria-label': 'Parts of the session' });
  const body = h('div', { class: 'tab-body' });
  let tab = {};
  let stop = () => {};
  let turned = 0; // how often another tab was chosen
  let isGone = false;

  const mark = () => `${head.etag} ${head.state} ${head.queued}`;
  let shown = ''; // what the tab has drawn

  function drawHead() {
    update(facts, isGone ? badge('error', 'deleted') : badge(head.state), head.agent ? h('a', { href: link('agents', [mine?.name ?? head.agent]) }, name(mine?.name ?? head.agent)) : h('span', null, head.kind),
      h('span', null, many(head.entries, 'entry', 'entries')), h('span', { title: `epoch ${head.epoch}` }, `revision ${count(head.revision)}`),
      h('span', { title: moment(head.changed) }, `changed ${since(head.changed)}`), head.expires ? h('span', { title: moment(head.expires) }, `${Date.parse(head.expires) < Date.now() ? 'expired' : 'expires'} ${since(head.expires)}`) : null,
      Object.entries(head.properties ?? {}).map(([k, v]) => h('a', { class: 'tag', href: link('sessions', [], { property: `${k}=${str(v)}` }) }, name(`${k}: ${str(v)}`))));
  }

  // Look at what the session is now, once at a time; the tab draws it if it is
  // another one. What fails is tried again: nothing counts as drawn before.
  let looking = null;
  let wanted = false;
  let retry = 0;
  function look() {
    wanted = true;
    looking ??= (async () => {
      try {
        while (wanted && !isGone && isCurrent()) {
          wanted = false;
          const now = await get(at(path));
          const isOther = now.epoch !== head.epoch;
          head = now;
          if (isOther) listen();
          drawHead();
          const it = mark();
          if (it === shown) continue;
          await tab.changed?.(head);
          shown = it;
        }
      } catch (why) {
        if (why.status === 404) gone();
        else { clearTimeout(retry); retry = setTimeout(look, RETRY_MS); }
      }
      looking = null;
    })();
    return looking;
  }

  const soon = calm(look, 300);

  function gone() {
    if (isGone) return;
    isGone = true;
    drawHead();
    tab.gone?.();
    view.querySelector('.head')?.after(h('div', { class: 'notice bad', role: 'alert' }, 'This session was deleted. What you see is what it was.', h('a', { class: 'button plain', href: link('sessions') }, 'All sessions')));
  }

  async function remove() {
    const { etag } = head; // of what whoever is asked has seen
    if (!await confirm('Delete this session?', [name(id), ' and all that was said in it are gone then, for everybody.'], 'Delete it')) return;
    try {
      await send('DELETE', at(path), { headers: { 'If-Match': etag } });
    } catch (why) { look(); throw why; }
    toast('The session is deleted.');
    location.hash = link('sessions');
  }

  /** Show the tab that the address names. */
  async function turn({ query: now }) {
    const chosen = TABS.find(([t]) => t === now.get('tab')) ?? TABS[0];
    const number = ++turned;
    const it = mark();
    tab.close?.();
    tab = {};
    update(nav, TABS.map(([t, title]) => h('a', { 'data-key': t, href: link('session', args, { tab: t === 'talk' ? '' : t }), 'aria-current': t === chosen[0] ? 'true' : null }, title)));
    view.classList.toggle('is-talk', chosen[0] === 'talk' && head.kind !== 'chat');
    if (head.kind === 'chat' && (chosen[0] === 'talk' || chosen[0] === 'raw')) {
      fill(body, empty('This is a chat of several agents', 'What was said in it, and the saved chat, are on a page of its own.', h('a', { class: 'button', href: link('chat', [id]) }, 'Show its lanes')));
      return;
    }
    const room = h('div', { class: `tab tab-${chosen[0]}` }, h('div', { class: 'loading', role: 'status' }, 'Loading'));
    const here = () => number === turned && isCurrent();
    fill(body, room);
    try {
      const made = await chosen[2](room, { id, path, head: () => head, look, agent: mine, query: now, stay });
      if (!here()) { made?.close?.(); return; }
      tab = made ?? {};
      shown = it;
      listen();
    } catch (why) {
      if (!here()) return;
      if (why.status === 404) gone();
      fill(room, trouble(why, () => turn({ query: now })));
    }
  }

  // A session at work is heard from its first event that is kept, so that what
  // was said before the page was opened is there; another from now on.
  function listen() {
    const start = head.state === 'running' || !head.events ? 0 : head.events.next - 1;
    const ended = (why) => (why.status === 404 ? gone() : fail(why));
    stop();
    if (!tab.event) { // it shows what is stored: which may change without a run
      stop = follow(() => 'events', {
        event(e) {
          const news = read(e.data);
          if (news.id === id && news.state === 'deleted') gone();
          else if (e.event === 'list' || news.id === id) soon();
        },
        gone: ended,
      });
      return;
    }
    stop = follow((last) => at([...path, 'events'], { after: last || start }), {
      event: (event) => tab.event?.(event), again: look, gone: ended,
    });
  }

  fill(view, h('div', { class: 'head' }, h('div', { class: 'title' }, h('a', { class: 'back', href: link('sessions') }, 'Sessions'), h('h1', null, name(id))),
    h('div', { class: 'row' }, head.kind === 'chat' ? null : button({ class: 'plain' }, () => save(at([...path, 'state']), `${id}.json`), icon('file'), 'Download'),
      may('write') ? button({ class: 'plain' }, remove, 'Delete') : null)), facts, nav, body);
  drawHead();
  await turn({ query });
  if (!isCurrent()) { stop(); return null; }
  const timer = setInterval(look, LOOK_MS);
  return { turn, close() { stop(); clearInterval(timer); clearTimeout(retry); tab.close?.(); } };
}
