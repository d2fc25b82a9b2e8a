// Elements, made without HTML: whatever a model or a store says stays text.

import { str } from './json.js';

export const SVG = 'http://www.w3.org/2000/svg';

function put(parent, child) {
  if (Array.isArray(child)) child.forEach((c) => put(parent, c));
  else if (child instanceof Node) parent.append(child);
  else if (child !== null && child !== undefined && child !== false) parent.append(String(child));
}

const handlers = new WeakMap(); // of an element: type → function

function on(el, type, fn) {
  const all = handlers.get(el) ?? {};
  if (!all[type]) el.addEventListener(type, (event) => all[type](event));
  all[type] = fn;
  handlers.set(el, all);
}

/** h('a', {href, class, onclick}, ...children). False and null are left out. */
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) on(el, name.slice(2), value);
    else if (name === 'value' || name === 'checked' || name === 'open') el[name] = value;
    else el.setAttribute(name, value === true ? '' : value);
  }
  put(el, children);
  return el;
}

/** Put these children in the place of those that are there. */
export function fill(el, ...children) {
  el.replaceChildren();
  put(el, children);
  return el;
}

const solids = new WeakMap(); // of an element: what it was made of
/** An element that update() keeps or replaces as a whole: it keeps it if it was made of the same. */
export function solid(el, of) {
  solids.set(el, of);
  return el;
}

/** An element that a page holds on to: update() puts it in as it is. */
export const own = (el) => solid(el, el);

/**
 * Let `el` have these children, and change those that are there instead of
 * making them anew: focus, selection and what is opened stay. Elements with the
 * same data-key are the same one; others, if they are the next of their tag. An
 * element that is there already is only put in its place.
 */
export function update(el, ...children) {
  const made = document.createDocumentFragment();
  const kept = new Set();
  const wanted = [];
  const list = (child) => {
    if (Array.isArray(child)) child.forEach(list);
    else if (child instanceof Node && child.parentNode === el) { kept.add(child); wanted.push(child); }
    else { put(made, child); wanted.push(...made.childNodes); made.replaceChildren(); }
  };
  list(children);
  const keyed = new Map();
  const others = new Map();
  for (const c of el.childNodes) {
    if (kept.has(c)) continue;
    if (c.dataset?.key !== undefined) keyed.set(c.dataset.key, c);
    else others.set(c.nodeName, [...others.get(c.nodeName) ?? [], c]);
  }
  const nodes = wanted.map((node) => {
    if (kept.has(node)) return node;
    const key = node.dataset?.key;
    const old = key !== undefined ? keyed.get(key) : others.get(node.nodeName)?.shift();
    return old && old.nodeName === node.nodeName ? become(old, node) : node;
  });
  const stay = new Set(nodes);
  const focus = document.activeElement;
  for (const c of [...el.childNodes]) if (!stay.has(c)) c.remove();
  let at = el.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else el.insertBefore(node, at);
  }
  if (focus !== document.activeElement && el.contains(focus)) focus.focus({ preventScroll: true });
  return el;
}

/** What is there takes over what the new one says; gives the one to show. */
function become(old, node) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (node.data.startsWith(old.data)) old.appendData(node.data.slice(old.data.length));
    else old.data = node.data;
    return old;
  }
  const of = solids.get(node);
  if (of !== undefined || solids.has(old)) return of !== undefined && of === solids.get(old) ? old : node;
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name) && !['open', 'style', 'aria-busy'].includes(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes) if (name !== 'open' && name !== 'style' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.style && old.style.cssText !== node.style.cssText) old.style.cssText = node.style.cssText; // a policy forbids the attribute
  for (const [type, fn] of Object.entries(handlers.get(node) ?? {})) on(old, type, fn);
  update(old, ...node.childNodes);
  return old;
}

const icons = {
  overview: 'M3 13h6V3H3zM11 17h6V9h-6zM11 3v4h6V3zM3 17h6v-2H3z',
  sessions: 'M3 5h14M3 10h14M3 15h9',
  runs: 'M6 4l9 6-9 6z',
  chats: 'M3 4h9v7H7l-3 3v-3H3zM9 13v1h4l3 3v-3h1V8h-3',
  agents: 'M10 10a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM4 17c.5-3 3-4.6 6-4.6s5.500 1.600 6 4.600',
  store: 'M4 5.500c0-3 12-3 12 0v9c0 3-12 3-12 0zM4 5.500c0 3 12 3 12 0M4 10c0 3 12 3 12 0',
  tool: 'M12.500 3.500a4 4 0 0 0-4 5.200L3.500 13.700l2.800 2.800 5-5a4 4 0 0 0 5-5.200l-2.500 2.500-2.600-.700-.700-2.600z',
  check: 'M4 10.500l4 4 8-9',
  cross: 'M5 5l10 10M15 5L5 15',
  wait: 'M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6.500V10l2.500 2',
  thought: 'M10 3a5 5 0 0 0-3 9v2h6v-2a5 5 0 0 0-3-9zM8 17h4',
  sun: 'M10 6.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM10 1.500v2M10 16.500v2M1.500 10h2M16.500 10h2M4 4l1.400 1.400M14.600 14.600L16 16M4 16l1.400-1.400M14.600 5.400L16 4',
  keys: 'M2.500 5.500h15v9h-15zM5.500 8.500h.01M8.500 8.500h.01M11.500 8.500h.01M14.500 8.500h.01M6.500 11.500h7',
  out: 'M12 5V3H4v14h8v-2M8 10h9M14 7l3 3-3 3',
  file: 'M5 2.500h7l3 3v12H5zM12 2.500v3h3',
};

export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', 'icon');
  path.setAttribute('d', icons[name]);
  svg.append(path);
  return svg;
}

// Marks that reorder or hide what stands beside them, and halves of characters:
// shown by their numbers. Joiners stay between letters and pictures that need them.
const ODD = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]|[\u200c\u200d](?![^\0-\x7f])|(?<![^\0-\x7f])[\u200c\u200d]/gu;
const number = (mark) => `U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Text of others: as it is, but for marks that would hide what it says. */
export function said(value) {
  const text = str(value);
  const parts = [];
  let at = 0;
  for (const m of text.matchAll(ODD)) {
    if (m.index > at) parts.push(text.slice(at, m.index));
    parts.push(h('span', { class: 'odd', title: 'an invisible character' }, number(m[0])));
    at = m.index + m[0].length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

/** The same where only a plain text can be, as in a label. */
export const plain = (value) => str(value).replace(ODD, (m) => `[${number(m)}]`);

/** A name of others on one line. */
export function name(text) {
  return h('bdi', null, said(text));
}

/** A state with its word, so that it does not need its colour. */
export function badge(state, word) {
  return h('span', { class: `badge is-${state}` }, h('span', { class: 'dot', 'aria-hidden': 'true' }), word ?? state);
}

/** What stands where there is nothing to show, and what to do. */
export function empty(title, ...hint) {
  return h('div', { class: 'empty' }, h('h2', null, title), hint.map((x) => (x instanceof Node ? x : h('p', null, x))));
}

/** Ask before what cannot be undone. Gives true or false. */
export function confirm(title, text, action) {
  return new Promise((resolve) => {
    const box = h('dialog', { class: 'ask', 'aria-labelledby': 'ask-title' },
      h('h2', { id: 'ask-title' }, title), h('p', null, text),
      h('div', { class: 'row end' },
        h('button', { type: 'button', class: 'plain', onclick: () => box.close() }, 'Keep it'),
        h('button', { type: 'button', class: 'danger', onclick: () => box.close('yes') }, action)));
    box.addEventListener('close', () => { box.remove(); resolve(box.returnValue === 'yes'); });
    document.body.append(box);
    box.showModal();
  });
}

/** A line that says what just happened, for eyes and for screen readers. */
export function toast(text, isBad) {
  const list = document.getElementById('toasts');
  const el = h('div', { class: isBad ? 'toast bad' : 'toast' }, said(text));
  list?.append(el);
  setTimeout(() => el.remove(), isBad ? 12000 : 6000);
}

/** Say what went wrong, and what to do. */
export const fail = (why) => toast(`${why.message} ${why.hint ?? ''}`.trim(), true);

/** A button for what takes time and may fail: it waits, then says so. */
export function button(props, fn, ...children) {
  return h('button', { type: 'button', ...props, onclick: async (event) => {
    const el = event.currentTarget; // update() may have given it to another one
    if (el.hasAttribute('aria-busy')) return;
    el.setAttribute('aria-busy', 'true');
    try { await fn(); } catch (why) { fail(why); }
    el.removeAttribute('aria-busy');
  } }, children);
}
