// Chats of several agents, and a box to begin one.

import { at, get, post } from './api.js';
import { link, may, trouble } from './app.js';
import { badge, empty, fail, fill, h, name, plain, toast, update } from './dom.js';
import { count, moment, since } from './format.js';
import { calm, follow } from './live.js';

const LIMIT = 100;

function maker(agents) {
  const id = h('input', { id: 'chat-id', placeholder: 'a new one', spellcheck: 'false' });
  const boxes = agents.map((a) => h('input', { type: 'checkbox', value: a.name }));
  async function make(event) {
    event.preventDefault();
    const chosen = boxes.filter((b) => b.checked).map((b) => b.value);
    if (!chosen.length) { toast('Choose at least one agent.', true); return; }
    try {
      const made = await post('chats', { ...(id.value.trim() ? { id: id.value.trim() } : {}), agents: chosen });
      location.hash = link('chat', [made.id]);
    } catch (why) { fail(why); }
  }
  return h('details', { class: 'panel' }, h('summary', null, 'Begin a chat'), h('form', { class: 'make', onsubmit: make },
    h('fieldset', null, h('legend', null, 'Who takes part'), agents.map((a, i) => h('label', { class: 'choice' }, boxes[i], name(a.name)))),
    h('div', { class: 'field' }, h('label', { for: 'chat-id' }, 'Id'), id), h('button', { type: 'submit' }, 'Begin')));
}

export default async function chats(view, { query, isCurrent }) {
  const cursor = query.get('cursor') ?? '';
  const body = h('div');
  const row = (c) => h('tr', { 'data-key': c.id }, h('td', null, badge(c.state)), h('td', { class: 'cell-id', title: plain(c.id) }, h('a', { href: link('chat', [c.id]), 'data-row': true }, name(c.id))),
    h('td', { class: 'num' }, count(c.entries)), h('td', { class: 'cell-time', title: moment(c.changed) }, since(c.changed)));
  async function load() {
    const list = await get(at(['chats'], { limit: LIMIT, cursor }));
    if (!isCurrent()) return;
    update(body, list.items.length ? h('div', { class: 'scroll', 'data-key': 'list', tabindex: '0', role: 'region', 'aria-label': 'Chats' }, h('table', { class: 'list sessions' }, h('caption', { class: 'away' }, 'Chats, the last changed first'),
      h('thead', null, h('tr', null, ['State', 'Chat', 'Entries', 'Changed'].map((t, i) => h('th', { scope: 'col', class: i === 2 ? 'num' : null }, t)))),
      h('tbody', null, list.items.map(row))))
      : list.next ? h('p', { class: 'dim' }, 'None on this page; there may be more on the next one.')
        : empty('No chats yet', 'A chat is a conversation of several agents. Begin one above, or with', h('pre', null, 'perdure group new --store FILE ID')),
    h('div', { class: 'pager', 'data-key': 'pager' }, h('span'), h('span', { class: 'row' }, cursor ? h('a', { class: 'button plain', href: link('chats') }, 'First page') : null, list.next ? h('a', { class: 'button', href: link('chats', [], { cursor: list.next }) }, 'Next page') : null)));
  }
  await load();
  const agents = await get('agents').then((l) => l.items, () => []);
  if (!isCurrent()) return null;
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Chats')), h('div', { class: 'stack' }, may('write') && agents.length ? maker(agents) : null, body));
  const again = calm(() => load().catch((why) => isCurrent() && why.status !== 0 && fill(body, trouble(why, again))), 1000);
  return { close: follow(() => 'events', { event: again, gone: (why) => fill(body, trouble(why)) }) };
}
