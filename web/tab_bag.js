// The bag of a session: keys with sizes; a value is read when it is opened, and
// written only if nobody else did.

import { at, get, send } from './api.js';
import { may, trouble } from './app.js';
import { button, confirm, empty, fill, h, name, own, plain, said, toast, update } from './dom.js';
import { bytes, count } from './format.js';
import { tree } from './tree.js';

const PAGE = 200;
const MOST_EDIT = 1000000;

/** A value: its element, and what changes it. */
class Slot {
  constructor(path, look, slot) {
    this.key = slot.key;
    this.address = at([...path, 'bag', slot.key]);
    this.look = look;
    this.isWriting = false;
    this.box = h('div', { class: 'slot-body' });
    this.note = h('div', { role: 'status' });
    this.size = h('span', { class: 'dim' });
    this.el = own(h('details', { class: 'panel slot', 'data-key': slot.key, ontoggle: () => { if (this.el.open && this.text === undefined) this.load(); } },
      h('summary', null, h('b', null, name(slot.key)), this.size), this.note, this.box));
    this.take(slot);
  }

  /** The slot as it is stored now. */
  take(slot) {
    fill(this.size, bytes(slot.bytes));
    if (this.digest === slot.digest) return;
    const isFirst = this.digest === undefined;
    this.digest = slot.digest;
    if (isFirst) return;
    if (this.isWriting) this.warn('This value has changed since you began to write. Storing it is refused; cancel to see what is there.');
    else if (this.el.open) this.load();
    else this.text = undefined;
  }

  warn(text) { fill(this.note, text ? h('div', { class: 'notice bad' }, text) : ''); }

  async read() {
    const reply = await send('GET', this.address);
    return { etag: reply.headers.get('ETag'), text: await reply.text() };
  }

  async load() {
    this.text = '';
    try {
      const now = await this.read();
      if (this.isWriting) return;
      Object.assign(this, now);
      this.show();
    } catch (why) {
      this.text = undefined;
      fill(this.box, trouble(why, () => this.load()));
    }
  }

  show() {
    this.isWriting = false;
    this.warn('');
    update(this.box, tree(this.text, { open: 2 }), may('write') ? h('div', { class: 'row' },
      this.text.length <= MOST_EDIT ? h('button', { type: 'button', class: 'plain', onclick: () => this.edit() }, 'Edit') : h('span', { class: 'dim' }, 'too large to edit here'),
      button({ class: 'plain' }, () => this.remove(), 'Remove')) : null);
  }

  edit() {
    const area = h('textarea', { class: 'edit', rows: String(Math.min(24, this.text.split('\n').length + 8)), spellcheck: 'false', 'aria-label': `Value of ${plain(this.key)}` });
    const bad = h('p', { class: 'bad', role: 'alert' });
    const cancel = () => { this.isWriting = false; this.load(); };
    area.value = this.text.length < 20000 ? pretty(this.text) : this.text;
    area.addEventListener('keydown', (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) store.click(); });
    const store = button({}, async () => {
      try { JSON.parse(area.value); } catch (why) { fill(bad, said(`This is not JSON: ${why.message}`)); return; }
      try { await this.put(area.value); } catch (why) { fill(bad, said(`${why.message} ${why.hint ?? ''}`)); }
    }, 'Store');
    this.isWriting = true;
    fill(this.box, area, bad, h('div', { class: 'row' }, store, h('button', { type: 'button', class: 'plain', onclick: cancel }, 'Cancel')));
    area.focus();
  }

  /** Change what was seen. The ETag is that of the session: another part of it may have changed. */
  async change(method, { etag, text }, body) {
    const write = (tag) => send(method, this.address, { body, headers: { 'If-Match': tag } });
    try {
      await write(etag);
    } catch (why) {
      if (why.status !== 412) throw why;
      const now = await this.read();
      if (now.text !== text) throw why;
      await write(now.etag);
    }
  }

  async put(value) {
    await this.change('PUT', this, value);
    toast('The value is stored.');
    this.isWriting = false;
    await this.load();
    this.look();
  }

  async remove() {
    const { etag, text } = this;
    if (!await confirm('Remove this value?', [name(this.key), ' is gone from the bag then.'], 'Remove it')) return;
    await this.change('DELETE', { etag, text });
    this.look();
  }
}

export default async function bag(body, { path, look }) {
  const list = h('div', { class: 'stack' });
  const slots = new Map();
  let most = PAGE;

  async function load() {
    const items = [];
    let cursor = '';
    while (items.length < most && cursor !== null) {
      const page = await get(at([...path, 'bag'], { limit: PAGE, cursor }));
      items.push(...page.items);
      cursor = page.next;
    }
    const here = new Set(items.map((s) => s.key));
    for (const [key, slot] of slots) {
      if (here.has(key)) continue;
      if (slot.isWriting) slot.warn('This value was removed since you began to write. Storing it is refused.');
      else slots.delete(key);
    }
    for (const s of items) {
      if (slots.has(s.key)) slots.get(s.key).take(s);
      else slots.set(s.key, new Slot(path, look, s));
    }
    update(list, slots.size ? [...slots.values()].map((s) => s.el) : empty('The bag is empty', 'Providers of an agent, and programs, keep their values here.'),
      cursor ? button({ class: 'plain', 'data-key': 'more' }, () => { most += PAGE; return load(); }, `More than ${count(items.length)} keys: show the next ones`) : null);
  }

  await load();
  fill(body, list);
  return { changed: load };
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
