// The entries as they are stored, with their digests, and what came since one.

import { at, get, post } from './api.js';
import { link, trouble } from './app.js';
import { badge, empty, fill, h, name } from './dom.js';
import { count, many, moment, short, since } from './format.js';
import { entry } from './shapes.js';
import { tree } from './tree.js';

const LIMIT = 100;

function brief(e) {
  for (const m of e.messages) for (const c of m.contents) {
    if (c.kind === 'text' && c.text) return c.text.slice(0, 160);
    if (c.kind === 'call') return `calls ${c.name}`;
    if (c.kind === 'ask') return `asks whether it may call ${c.call.name}`;
    if (c.kind === 'told') return `${c.approved ? 'approves' : 'declines'} ${c.call.name}`;
    if (c.kind === 'error') return c.text.slice(0, 160);
  }
  return '';
}

export default async function entries(body, { path, id, head, query, stay }) {
  const after = Number(query.get('since') ?? '') || 0;
  let cursor = query.get('cursor') ?? '';
  const list = h('div', { class: 'scroll' });
  const state = h('span', { class: 'dim' }, 'Digests are not checked yet.');
  const news = h('div');

  async function verify() {
    fill(state, 'Checking');
    try {
      const told = await post(at(['verify'], { session: id }));
      fill(state, told.ok ? badge('ok', 'digests hold') : badge('error', 'damaged'), ' ', told.ok ? '' : h('details', { open: true }, h('summary', null, 'What was found'), tree(JSON.stringify(told), { open: 3 })));
    } catch (why) { fill(state, h('span', { class: 'bad' }, why.message)); }
  }

  function row(item) {
    const e = entry(item);
    const raw = h('td', { colspan: '6' });
    const more = h('tr', { hidden: true }, raw);
    const open = h('button', { type: 'button', class: 'link', 'aria-expanded': 'false', 'data-row': true, onclick: () => {
      more.hidden = !more.hidden;
      open.setAttribute('aria-expanded', String(!more.hidden));
      if (!raw.firstChild) fill(raw, h('p', { class: 'dim' }, 'SHA-256 ', h('code', null, item.digest)), tree(JSON.stringify(item.body), { open: 2 }));
    } }, count(e.seq));
    return [h('tr', null, h('td', { class: 'num' }, open), h('td', null, e.isError ? badge('error', 'error') : h('span', null, e.kind), ' ', h('span', { class: 'dim' }, item.shape)),
      h('td', { class: 'cell-brief' }, name(brief(e))), h('td', { class: 'cell-time', title: moment(item.created) }, since(item.created)),
      h('td', { class: 'cell-agent' }, h('code', { title: item.digest }, short(item.digest, 10))),
      h('td', null, h('a', { class: 'quiet', href: link('session', [id], { tab: 'entries', since: e.seq }), title: 'Show what came since', 'aria-label': `What came since entry ${e.seq}` }, 'since'))), more];
  }

  async function load() {
    const page = await get(at([...path, 'entries'], after ? { from: after + 1, limit: LIMIT, cursor } : { backwards: 'true', limit: LIMIT, cursor }));
    if (!page.items.length) {
      fill(list, after ? empty(`Nothing came since entry ${after}`, 'The page shows it here when something does.') : empty('No entries', 'Nothing has been said in this session.'));
      return;
    }
    const last = head().entries;
    fill(list, after ? h('p', null, h('b', null, many(Math.max(0, last - after), 'entry', 'entries')), ` came since entry ${after}. `, h('a', { href: link('session', [id], { tab: 'entries' }) }, 'Show all')) : null,
      h('table', { class: 'list' }, h('caption', { class: 'away' }, 'Entries'), h('thead', null, h('tr', null, ['Entry', 'Kind', 'What', 'Stored', 'Digest', ''].map((t, i) => h('th', { scope: 'col', class: i === 0 ? 'num' : i === 4 ? 'cell-agent' : null }, t || h('span', { class: 'away' }, 'Since'))))), h('tbody', null, page.items.map(row))),
      h('div', { class: 'pager' }, h('span'), h('span', { class: 'row' }, cursor ? h('button', { type: 'button', class: 'plain', onclick: () => turn('') }, 'First page') : null, page.next ? h('button', { type: 'button', onclick: () => turn(page.next) }, 'Next page') : null)));
  }

  function turn(to) {
    cursor = to;
    stay({ tab: 'entries', since: after || '', cursor: to });
    fill(news);
    load().catch((why) => fill(list, trouble(why, load)));
  }

  await load();
  fill(body, h('div', { class: 'notice' }, state, h('button', { type: 'button', class: 'plain', onclick: verify }, 'Check the digests')), news, list);
  return { changed: () => (cursor ? fill(news, h('button', { type: 'button', onclick: () => turn('') }, 'There is more. Show')) : load()) };
}
