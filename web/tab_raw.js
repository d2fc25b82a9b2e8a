// The document, byte for byte, with what no edition knows marked.

import { at, get, send } from './api.js';
import { badge, fill, h, said } from './dom.js';
import { bytes, many } from './format.js';
import { tree } from './tree.js';

const MOST = 400000; // characters that are shown as text

export default async function raw(body, { path }) {
  async function load() {
    const reply = await send('GET', at([...path, 'state']));
    const text = await reply.text();
    const found = await get(at([...path, 'findings'])).catch(() => null);
    const marks = new Map((found?.items ?? []).filter((f) => f.unknown).map((f) => [f.pointer, 'unknown']));
    const others = (found?.items ?? []).filter((f) => !f.unknown);
    const view = h('div', { class: 'panel' });
    const asTree = () => fill(view, tree(text, { open: 3, mark: marks }));
    const asText = () => fill(view, h('pre', { class: 'said' }, said(text.slice(0, MOST))), text.length > MOST ? h('p', { class: 'dim' }, `The rest of ${bytes(text.length)} is in the download.`) : null);
    const pick = (fn) => (e) => { for (const b of e.target.parentNode.children) b.setAttribute('aria-pressed', String(b === e.target)); fn(); };
    fill(body, h('div', { class: 'notice' }, h('span', { class: 'row' }, h('b', null, bytes(new TextEncoder().encode(text).length)),
      !found?.checked ? null : marks.size ? [badge('mark', many(marks.size, 'unknown part')), h('span', { class: 'dim' }, 'kept as they are, marked below')] : h('span', { class: 'dim' }, 'nothing in it is unknown')),
    h('span', { class: 'seg' }, h('button', { type: 'button', class: 'plain', 'aria-pressed': 'true', onclick: pick(asTree) }, 'Tree'), h('button', { type: 'button', class: 'plain', 'aria-pressed': 'false', onclick: pick(asText) }, 'Text'))),
    others.length ? h('details', { class: 'panel', open: others.length < 6 }, h('summary', null, many(others.length, 'finding')), h('ul', { class: 'finds' }, others.map((f) => h('li', null, badge({ error: 'error', warning: 'waiting' }[f.severity] ?? 'idle', f.severity), ' ', said(f.text), h('code', { class: 'dim' }, said(` ${f.pointer}`)))))) : null, view);
    asTree();
  }
  await load();
  return { changed: load };
}
