// JSON as a tree, from its text: numbers, escapes and the order of members stay
// as they are written. A part is read when it is opened, so that a document of
// many megabytes opens at once.

import { h, plain, said, solid } from './dom.js';
import { bytes, many } from './format.js';
import { blank, members, past } from './json.js';

const SOME = 100; // members that are shown at once
const LONG = 400; // characters of a text before it is folded

const token = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1');

function leaf(text, at, end) {
  const raw = text.slice(at, end);
  const kind = raw[0] === '"' ? 'string' : raw === 'null' || raw === 'true' || raw === 'false' ? 'word' : 'number';
  if (raw.length <= LONG) return h('span', { class: `v-${kind}` }, said(raw));
  const more = h('button', { type: 'button', class: 'link', onclick: () => more.parentNode.replaceChildren(...said(raw)) }, `all ${bytes(raw.length)}`);
  return h('span', { class: `v-${kind}` }, said(raw.slice(0, LONG)), '… ', more);
}

/**
 * A tree of this text. opts.open: levels that are open at first; opts.mark: a
 * map of JSON Pointers to what is to be said of them; opts.path: of the root.
 */
export function tree(text, opts = {}) {
  const marks = opts.mark ?? new Map();
  const marked = [...marks.keys()];

  function node(at, end, key, path, level) {
    const note = marks.get(path);
    const label = key === null ? null : h('span', { class: typeof key === 'number' ? 'index' : 'key', title: plain(path) }, typeof key === 'number' ? String(key) : said(JSON.stringify(key)), ': ');
    const flag = note ? h('span', { class: 'mark' }, note) : null;
    if (text[at] !== '{' && text[at] !== '[') return h('div', { class: note ? 'leaf marked' : 'leaf' }, label, leaf(text, at, end), flag);
    const inside = marked.some((p) => p.startsWith(path + '/'));
    const body = h('div', { class: 'kids' });
    const size = h('span', { class: 'size' });
    const box = h('details', { class: note ? 'marked' : null },
      h('summary', null, label, h('span', { class: 'brace' }, text[at] === '{' ? '{ }' : '[ ]'), ' ', size, flag, inside && !note ? h('span', { class: 'mark within' }, 'inside') : null), body);
    let kids = null;
    const load = () => {
      if (kids) return;
      kids = members(text, at);
      let shown = 0;
      const more = h('button', { type: 'button', class: 'link', onclick: () => grow() });
      const grow = () => {
        more.remove();
        for (const kid of kids.slice(shown, shown + SOME)) body.append(node(kid.at, kid.end, kid.key, `${path}/${token(String(kid.key))}`, level + 1));
        shown += SOME;
        if (shown < kids.length) { more.textContent = `${many(kids.length - shown, 'more')}`.replace('mores', 'more'); body.append(more); }
      };
      grow();
    };
    size.textContent = bytes(end - at);
    box.addEventListener('toggle', () => box.open && load());
    if (level < (opts.open ?? 1)) { box.open = true; load(); }
    return box;
  }

  try {
    const at = blank(text, 0);
    return solid(h('div', { class: 'tree' }, node(at, past(text, at), null, opts.path ?? '', 0)), text);
  } catch {
    return solid(h('pre', { class: 'said' }, said(text)), text);
  }
}
