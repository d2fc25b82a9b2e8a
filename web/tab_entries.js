// The entries as they are stored, with their digests, and what came since one.
// The server compares the digest of each row that it reads; where a page cannot
// be read, its rows are asked for one by one, and those that are damaged shown.

import { at, get, post } from './api.js';
import { link, trouble } from './app.js';
import { badge, button, empty, fill, h, icon, name, own, said, update } from './dom.js';
import { count, many, moment, short, since } from './format.js';
import { textOf } from './json.js';
import { entry } from './shapes.js';
import { tree } from './tree.js';

const LIMIT = 100;
const FEW = 5000; // entries whose digests are checked without being asked
const HEADS = ['Entry', 'Kind', 'What', 'Stored', 'Digest', 'Since'];

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
  let from = Number(query.get('from') ?? '') || 0; // the entry with which the page begins; 0: the first page
  let loads = 0;
  const list = h('div');
  const state = h('div', { class: 'row' });
  const news = h('div');
  let rows = new Map(); // by digest: what is opened stays open

  async function verify() {
    const n = head().entries;
    fill(state, h('span', { class: 'dim' }, `Comparing ${many(n, 'digest')}`));
    const told = await post(at(['verify'], { session: id }));
    fill(state, told.ok ? [badge('ok', 'every digest holds'), h('span', { class: 'dim' }, `${many(told.entries, 'entry', 'entries')}, up to revision ${count(head().revision)}`)]
      : [badge('error', 'damaged'), h('ul', { class: 'finds' }, told.findings.map((f) => h('li', null, h('b', null, f.table), ' ', said(f.what))))]);
  }

  function row(item) {
    const e = entry(item);
    const raw = h('td', { colspan: '6' });
    const more = own(h('tr', { class: 'more', hidden: true }, raw));
    const open = h('button', { type: 'button', class: 'link', 'aria-expanded': 'false', 'data-row': true, onclick: () => {
      more.hidden = !more.hidden;
      open.setAttribute('aria-expanded', String(!more.hidden));
      if (!raw.firstChild) fill(raw, h('p', { class: 'dim' }, 'SHA-256 ', h('code', null, item.digest)), tree(textOf(item.body), { open: 2 }));
    } }, count(e.seq));
    return [own(h('tr', null, h('td', { class: 'num' }, open), h('td', { class: 'cell-kind' }, e.isError ? badge('error', 'error') : h('span', null, e.kind), ' ', h('span', { class: 'dim' }, item.shape)),
      h('td', { class: 'cell-brief' }, name(brief(e))), h('td', { class: 'cell-time', title: moment(item.created) }, since(item.created)),
      h('td', { class: 'cell-agent cell-digest', title: `compared when it was read: ${item.digest}` }, icon('check'), h('span', { class: 'away' }, 'holds '), h('code', null, short(item.digest, 10))),
      h('td', null, h('a', { class: 'quiet', href: link('session', [id], { tab: 'entries', since: e.seq }), title: 'Show what came since', 'aria-label': `What came since entry ${e.seq}` }, 'since')))), more];
  }

  const damaged = (seq, why) => [own(h('tr', { class: 'damaged' }, h('td', { class: 'num' }, count(seq)), h('td', { colspan: '5' }, badge('error', 'damaged'), ' ', said(why.message))))];

  /** A page of entries, and where the next one begins; of a page that cannot be read, row by row. */
  async function page() {
    const step = after ? 1 : -1;
    const ask = (seq, limit) => get(at([...path, 'entries'], { from: seq, backwards: after ? '' : 'true', limit }));
    let seq = from || (after ? after + 1 : '');
    try {
      const { items, next } = await ask(seq, LIMIT);
      return { items, next: next === null ? 0 : items.at(-1).seq + step };
    } catch (why) {
      if (why.status !== 500) throw why;
    }
    const items = [];
    const last = head().lastSeq;
    for (seq ||= last; items.length < LIMIT && seq >= 1 && seq <= last; seq += step) {
      try {
        const [item] = (await ask(seq, 1)).items;
        if (!item) return { items, next: 0 };
        items.push(item);
        seq = item.seq;
      } catch (bad) {
        if (bad.status !== 500) throw bad;
        items.push({ seq, bad });
      }
    }
    return { items, next: seq >= 1 && seq <= last ? seq : 0 };
  }

  async function load() {
    const mine = ++loads;
    const { items, next } = await page();
    if (mine !== loads) return; // another page was asked for
    if (!items.length) {
      fill(list, after ? empty(`Nothing came since entry ${after}`, 'The page shows it here when something does.', h('a', { class: 'button plain', href: link('session', [id], { tab: 'entries' }) }, 'Show all')) : empty('No entries', 'Nothing has been said in this session.'));
      return;
    }
    const now = new Map(items.map((x) => [x.digest ?? x.seq, x.bad ? damaged(x.seq, x.bad) : rows.get(x.digest) ?? row(x)]));
    rows = now;
    update(list, after ? h('p', null, h('b', null, many(Math.max(0, head().lastSeq - after), 'entry', 'entries')), ` came since entry ${after}. `, h('a', { href: link('session', [id], { tab: 'entries' }) }, 'Show all')) : null,
      box,
      h('div', { class: 'pager' }, h('span'), h('span', { class: 'row' }, from ? h('button', { type: 'button', class: 'plain', onclick: () => turn(0) }, 'First page') : null, next ? h('button', { type: 'button', onclick: () => turn(next) }, 'Next page') : null)));
    update(rowsBody, ...now.values());
  }

  const rowsBody = h('tbody');
  const table = h('table', { class: 'list entries' }, h('caption', { class: 'away' }, 'Entries'), h('thead', null, h('tr', null, HEADS.map((t, i) => h('th', { scope: 'col', class: i === 0 ? 'num' : i === 4 ? 'cell-agent' : null }, i === 5 ? h('span', { class: 'away' }, t) : t)))), rowsBody);
  const box = own(h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Entries' }, table));

  function turn(to) {
    from = to;
    stay({ tab: 'entries', since: after || '', from: to || '' });
    fill(news);
    return load().catch((why) => { if (from === to) fill(list, trouble(why, () => turn(to))); });
  }

  await load();
  fill(body, h('div', { class: 'notice' }, state, button({ class: 'plain' }, verify, 'Check the digests')), news, list);
  if (head().entries <= FEW) verify().catch((why) => fill(state, h('span', { class: 'bad' }, said(why.message))));
  else fill(state, h('span', { class: 'dim' }, 'Those of the rows below hold; the others are not checked yet.'));
  return { changed: () => (from ? fill(news, h('button', { type: 'button', onclick: () => turn(0) }, 'There is more. Show')) : load()) };
}
