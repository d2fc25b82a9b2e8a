// The bag of a session: keys with sizes; a value is read when it is opened, and
// written only if nobody else did.

import { at, get, send } from './api.js';
import { may, trouble } from './app.js';
import { confirm, empty, fill, h, name, toast } from './dom.js';
import { bytes } from './format.js';
import { tree } from './tree.js';

const MOST_EDIT = 1000000;

export default async function bag(body, { path, look }) {
  const list = h('div', { class: 'stack' });
  const changed = h('div');
  let isWriting = 0;

  async function one(key, box) {
    let etag;
    let text;
    const put = async (value, headers) => {
      await send('PUT', at([...path, 'bag', key]), { body: value, headers });
      toast('The value is stored.');
      isWriting--;
      await load();
      await look();
    };
    const edit = () => {
      const area = h('textarea', { class: 'edit', rows: String(Math.min(24, text.split('\n').length + 2)), spellcheck: 'false', 'aria-label': `Value of ${key}` });
      const bad = h('p', { class: 'bad', role: 'alert' });
      area.value = text.length < 20000 ? pretty(text) : text;
      isWriting++;
      fill(box, area, bad, h('div', { class: 'row' }, h('button', { type: 'button', onclick: async () => {
        try { JSON.parse(area.value); } catch (why) { fill(bad, `This is not JSON: ${why.message}`); return; }
        try { await put(area.value, { 'If-Match': etag }); } catch (why) {
          fill(bad, `${why.message} ${why.hint ?? ''}`);
        }
      } }, 'Store'), h('button', { type: 'button', class: 'plain', onclick: () => { isWriting--; show(); } }, 'Cancel')));
      area.focus();
    };
    const remove = async () => {
      if (!await confirm('Remove this value?', `${key} is gone from the bag then.`, 'Remove it')) return;
      try { await send('DELETE', at([...path, 'bag', key]), { headers: { 'If-Match': etag } }); await load(); await look(); } catch (why) { toast(`${why.message} ${why.hint ?? ''}`, true); }
    };
    const show = () => fill(box, tree(text, { open: 2 }), may('write') ? h('div', { class: 'row' },
      text.length <= MOST_EDIT ? h('button', { type: 'button', class: 'plain', onclick: edit }, 'Edit') : h('span', { class: 'dim' }, 'too large to edit here'),
      h('button', { type: 'button', class: 'plain', onclick: remove }, 'Remove')) : null);
    try {
      const reply = await send('GET', at([...path, 'bag', key]));
      etag = reply.headers.get('ETag');
      text = await reply.text();
      show();
    } catch (why) { fill(box, trouble(why, () => one(key, box))); }
  }

  async function load() {
    const opened = new Set([...list.querySelectorAll('details[open][data-key]')].map((d) => d.dataset.key));
    const els = [];
    let cursor = '';
    do {
      const page = await get(at([...path, 'bag'], { limit: 200, cursor }));
      for (const slot of page.items) {
        const box = h('div', { class: 'slot-body' });
        const el = h('details', { class: 'panel slot', 'data-key': slot.key, ontoggle: () => el.open && !box.firstChild && one(slot.key, box) },
          h('summary', null, h('b', null, name(slot.key)), h('span', { class: 'dim' }, bytes(slot.bytes ?? slot.size))), box);
        if (opened.has(slot.key)) el.open = true;
        els.push(el);
      }
      cursor = page.next;
    } while (cursor && els.length < 2000);
    fill(changed);
    fill(list, els.length ? els : empty('The bag is empty', 'Providers of an agent, and programs, keep their values here.'));
    if (cursor) list.append(h('p', { class: 'dim' }, 'Only the first 2,000 keys are shown.'));
  }

  await load();
  fill(body, changed, list);
  return { changed: () => (isWriting > 0 ? fill(changed, h('div', { class: 'notice' }, 'The session has changed since you began to write.')) : load()) };
}

/** With line ends and indents; numbers and escapes stay as they are. */
export function pretty(text) {
  let out = '';
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      const from = i;
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === '\\') i++;
      out += text.slice(from, i + 1);
    } else if (c === '{' || c === '[') {
      const next = text.slice(i + 1, i + 200).match(/^\s*([}\]])/);
      if (next) { out += c + next[1]; i += next[0].length; } else out += `${c}\n${'  '.repeat(++depth)}`;
    } else if (c === '}' || c === ']') out += `\n${'  '.repeat(--depth)}${c}`;
    else if (c === ',') out += `,\n${'  '.repeat(depth)}`;
    else if (c === ':') out += ': ';
    else if (!' \t\r\n'.includes(c)) out += c;
  }
  return out;
}
