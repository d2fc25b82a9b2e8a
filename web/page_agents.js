// The agents of this server, with their metadata, and a box to try each.

import { at, get, json, unique } from './api.js';
import { link, may } from './app.js';
import { empty, fail, fill, h, name, plain, said } from './dom.js';
import { isObject, textOf } from './json.js';
import { tree } from './tree.js';

/** ASCII letters alone, as the store has it. */
const lower = (text) => text.replace(/[A-Z]/g, (c) => c.toLowerCase());

function card(a, chosen) {
  const box = h('textarea', { rows: '2', 'aria-label': `Say something to ${plain(a.name)}`, placeholder: 'Say something', 'data-search': a.name === chosen || !chosen || null,
    onkeydown: (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); ask(); } } });
  const go = h('button', { type: 'submit' }, 'Try it');
  let sent = {};
  async function ask() {
    const message = box.value.trim();
    if (!message || go.disabled) return;
    go.disabled = true;
    // Sent again after a lost reply, it is the same run of the same session.
    if (sent.message !== message) sent = { message, key: unique() };
    const id = `@dafx-${lower(a.name)}@try-${sent.key.slice(0, 8)}`;
    try {
      await json('POST', at(['sessions', id, 'runs']), { body: JSON.stringify({ message }), headers: { Prefer: 'respond-async', 'Idempotency-Key': sent.key } });
      location.hash = link('session', [id]);
    } catch (why) {
      if (why.slug === 'idempotency-in-progress') location.hash = link('session', [id]);
      else fail(why);
      go.disabled = false;
    }
  }
  const hasMetadata = isObject(a.metadata) && Object.keys(a.metadata).length > 0;
  return h('section', { class: a.name === chosen ? 'panel agent is-chosen' : 'panel agent', 'aria-label': plain(a.name) },
    h('div', { class: 'head' }, h('h2', null, name(a.name)), h('span', { class: 'tag' }, name(a.type ?? 'agent'))),
    a.description ? h('p', null, said(a.description)) : h('p', { class: 'dim' }, 'No description.'),
    hasMetadata ? h('details', null, h('summary', null, 'Metadata'), tree(textOf(a.metadata), { open: 2 })) : null,
    may('run') ? h('form', { class: 'say', onsubmit: (e) => { e.preventDefault(); ask(); } }, box, go) : null,
    h('p', { class: 'hint' }, h('a', { href: link('sessions', [], { agent: a.name }) }, 'Its sessions')));
}

export default async function agents(view, { args, isCurrent }) {
  const list = await get('agents');
  if (!isCurrent()) return;
  const chosen = args[0];
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Agents')), list.items.length ? h('div', { class: 'cards' }, list.items.map((a) => card(a, chosen)))
    : empty('This server has no agents', 'It shows what is stored, and nobody answers. Agents are named when it is started:', h('pre', null, 'perdure serve --agent desk=FILE.yaml')));
  view.querySelector('.is-chosen')?.scrollIntoView({ block: 'center' });
}
