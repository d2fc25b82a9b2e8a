// The document, byte for byte, with what no edition knows marked.

import { at, get, send } from './api.js';
import { badge, fill, h, said, update } from './dom.js';
import { bytes, count, many } from './format.js';
import { tree } from './tree.js';

const MOST = 400000; // characters that are shown as text
const REST_MS = 2000; // between two documents of a session at work

export default async function raw(body, { path }) {
  let isText = false;
  const view = h('div', { class: 'panel' });
  const about = h('div', { class: 'stack' });
  let text = '';
  let marks = new Map();

  function pick(as) {
    isText = as;
    draw();
  }

  const choice = (as, title) => h('button', { type: 'button', class: 'plain', 'aria-pressed': String(isText === as), onclick: () => pick(as) }, title);
  const seg = h('span', { class: 'seg', role: 'group', 'aria-label': 'How it is shown' });

  function draw() {
    update(seg, choice(false, 'Tree'), choice(true, 'Text'));
    if (!isText) { update(view, tree(text, { open: 3, mark: marks })); return; }
    fill(view, text.length > MOST ? h('p', { class: 'notice' }, `These are the first ${count(MOST)} of ${count(text.length)} characters. All of them are in the download, and in the tree.`) : null,
      h('pre', { class: 'said', tabindex: '0', role: 'region', 'aria-label': 'The document as text' }, said(text.slice(0, MOST))));
  }

  async function load() {
    const reply = await send('GET', at([...path, 'state']));
    text = await reply.text();
    const found = await get(at([...path, 'findings'])).catch(() => null);
    const items = found?.items ?? [];
    const others = items.filter((f) => !f.unknown);
    marks = new Map(items.filter((f) => f.unknown).map((f) => [f.pointer, 'unknown']));
    const isCut = (found?.count ?? 0) > items.length;
    update(about, h('div', { class: 'notice' }, h('span', { class: 'row' }, h('b', null, bytes(new TextEncoder().encode(text).length)),
      !found ? h('span', { class: 'bad' }, 'it could not be checked') : !found.checked ? h('span', { class: 'dim' }, 'nobody has rules for such a document')
        : marks.size ? [badge('mark', `${isCut ? 'at least ' : ''}${many(marks.size, 'unknown part')}`), h('span', { class: 'dim' }, 'kept as they are, marked below')] : h('span', { class: 'dim' }, 'nothing in it is unknown')), seg),
    isCut ? h('p', { class: 'notice' }, `A check finds ${count(found.count)} things in this document; the first ${count(items.length)} of them are shown. `, h('code', null, 'perdure doc check'), ' tells all of a file.') : null,
    others.length ? h('details', { class: 'panel', open: others.length < 6 }, h('summary', null, many(others.length, 'finding')), h('ul', { class: 'finds' }, others.map((f) => h('li', null, badge({ error: 'error', warning: 'waiting' }[f.severity] ?? 'idle', f.severity), ' ', said(f.text), h('code', { class: 'dim' }, said(` ${f.pointer}`)))))) : null);
    draw();
  }
  await load();
  fill(body, about, view);
  let last = Date.now();
  return { async changed({ state }) {
    const rest = last + REST_MS - Date.now();
    if (state === 'running' && rest > 0) await new Promise((resolve) => { setTimeout(resolve, rest); });
    await load();
    last = Date.now();
  } };
}
