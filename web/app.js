// The frame: which page is shown, what it says when it cannot be, keys, theme.

import { get, Problem, send, whenLocked } from './api.js';
import { badge, empty, fail, fill, h, icon, plain } from './dom.js';
import { whenState } from './live.js';
import agents from './page_agents.js';
import chat from './page_chat.js';
import chats from './page_chats.js';
import overview from './page_overview.js';
import runs from './page_runs.js';
import session from './page_session.js';
import sessions from './page_sessions.js';
import store from './page_store.js';

const PAGES = [
  { path: '', title: 'Overview', icon: 'overview', key: 'o', show: overview },
  { path: 'sessions', title: 'Sessions', icon: 'sessions', key: 's', show: sessions },
  { path: 'session', title: 'Session', under: 'sessions', show: session },
  { path: 'runs', title: 'Runs', icon: 'runs', key: 'r', show: runs },
  { path: 'chats', title: 'Chats', icon: 'chats', key: 'c', show: chats },
  { path: 'chat', title: 'Chat', under: 'chats', show: chat },
  { path: 'agents', title: 'Agents', icon: 'agents', key: 'a', show: agents },
  { path: 'store', title: 'Store', icon: 'store', key: 't', show: store },
];

const KEYS = [
  ['?', 'these keys'], ['g o', 'overview'], ['g s', 'sessions'], ['g r', 'runs'], ['g c', 'chats'], ['g a', 'agents'], ['g t', 'store'],
  ['/', 'to the filter, or the box to write in'], ['j  k', 'next, previous row'], ['Enter', 'open the row'], ['[  ]', 'previous, next tab'], ['Esc', 'leave a box; back to the list'],
];

const view = h('main', { id: 'view', tabindex: '-1' });
const live = h('span', { class: 'live', role: 'status' });
let page = { close() {} };
let number = 0; // of the page that is shown: a late one is not

/** Where we are: {path, args, query}. */
export function here() {
  const [path, search] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = (path ?? '').split('/').map((p) => { try { return decodeURIComponent(p); } catch { return p; } });
  return { path: parts[0], args: parts.slice(1), query: new URLSearchParams(search ?? '') };
}

/** The address of a page. */
export function link(path, args = [], query = {}) {
  const pairs = Object.entries(query).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return `#/${[path, ...args.map((a) => encodeURIComponent(a.toWellFormed?.() ?? a))].join('/')}${pairs.length ? '?' + new URLSearchParams(pairs) : ''}`;
}

/** The same page with another query, without a step in the history. */
export function stay(query) {
  const { path, args } = here();
  history.replaceState(null, '', link(path, args, query));
}

/** What a page shows instead of itself, when something is wrong. */
export function trouble(why, again) {
  const known = why instanceof Problem;
  if (!known && why?.name !== 'AbortError') console.warn(why);
  const gone = why.status === 404;
  const act = again && !gone ? h('button', { type: 'button', onclick: again }, 'Try again') : null;
  return empty(gone ? 'It is not there' : why.status === 0 ? 'No connection' : 'That did not work',
    known ? plain(why.message) : 'The server sent something that this page does not understand.',
    known ? why.hint ?? '' : 'Something between this page and the server may have replied instead, or the page is older than the server: then load it anew.',
    h('div', { class: 'row' }, act, h('a', { class: 'button plain', href: link('sessions') }, 'All sessions')));
}

async function show() {
  const at = here();
  const def = PAGES.find((p) => p.path === at.path);
  if (page.turn && page.def === def && page.args.join('/') === at.args.join('/')) {
    try { await page.turn(at); } catch (why) { fill(view, trouble(why, show)); }
    return;
  }
  const mine = ++number;
  const isCurrent = () => mine === number;
  page.close?.();
  page = {};
  live.replaceChildren();
  view.className = '';
  for (const a of document.querySelectorAll('.bar nav a')) {
    if (a.dataset.path === (def?.under ?? at.path)) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  document.title = `${[...at.args.map(plain), def?.title ?? 'Nothing'].join(' - ')} - perdure`;
  if (!def) {
    fill(view, h('h1', { class: 'away' }, 'Nothing'), empty('There is no such page', 'The address may be mistyped.', h('a', { class: 'button', href: link('') }, 'Overview')));
    return;
  }
  fill(view, h('div', { class: 'loading', role: 'status' }, 'Loading'));
  try {
    if (!server) await known();
    const made = await def.show(view, { ...at, isCurrent });
    if (isCurrent()) page = { ...made, def, args: at.args };
    else made?.close?.();
  } catch (why) {
    if (!isCurrent()) return;
    view.className = '';
    fill(view, h('h1', { class: 'away' }, def.title), trouble(why, show));
  }
}

// --- keys and theme ---------------------------------------------------------

function setting(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch { /* it holds for this page */ }
  return value ?? null;
}
let hasKeys = setting('keys') !== 'off';

function help() {
  const box = h('dialog', { class: 'keys', 'aria-labelledby': 'keys-title' }, h('h2', { id: 'keys-title' }, 'Keys'),
    h('dl', null, KEYS.map(([k, what]) => [h('dt', null, k.split(/ +/).map((x) => h('kbd', null, x))), h('dd', null, what)])),
    h('label', { class: 'choice' }, h('input', { type: 'checkbox', checked: hasKeys, onchange: (e) => { hasKeys = e.target.checked; setting('keys', hasKeys ? 'on' : 'off'); } }), 'Single keys do this'),
    h('p', { class: 'hint' }, 'Switch them off if you speak to the computer, or type by accident. This list is behind the button with the keyboard, too.'),
    h('div', { class: 'row end' }, h('button', { type: 'button', onclick: () => box.close() }, 'Close')));
  box.addEventListener('close', () => box.remove());
  document.body.append(box);
  box.showModal();
}

let before = '';
function onKey(event) {
  const isWriting = event.target.matches?.('input, textarea, select');
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (isWriting) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  if (!hasKeys && event.key !== 'Escape') return;
  const to = before === 'g' ? PAGES.find((p) => p.key === event.key) : null;
  before = event.key;
  if (to) location.hash = link(to.path);
  else if (event.key === '?') help();
  else if (event.key === '/') view.querySelector('[data-search]')?.focus();
  else if (event.key === 'j' || event.key === 'k') move(event.key === 'j' ? 1 : -1);
  else if (event.key === '[' || event.key === ']') tab(event.key === ']' ? 1 : -1);
  else if (event.key === 'Escape' && here().args.length) location.hash = link(PAGES.find((p) => p.path === here().path)?.under ?? '');
  else return;
  event.preventDefault();
}

function move(step) {
  const rows = [...view.querySelectorAll('[data-row]')];
  if (rows.length) rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(document.activeElement) + step))].focus();
}

function tab(step) {
  const tabs = [...view.querySelectorAll('.tabs a')];
  tabs[tabs.findIndex((t) => t.hasAttribute('aria-current')) + step]?.click();
}

const THEMES = ['system', 'light', 'dark'];
const stored = () => document.documentElement.dataset.theme;
function theme(name) {
  document.documentElement.dataset.theme = THEMES.includes(name) ? name : 'system';
  setting('theme', name);
}

// --- logging in -------------------------------------------------------------

function login() {
  page.close?.();
  page = {};
  server = null;
  number++;
  const key = h('input', { type: 'password', id: 'key', autocomplete: 'current-password', required: true, spellcheck: 'false' });
  const said = h('p', { class: 'bad', role: 'alert' });
  const form = h('form', { class: 'login', onsubmit: async (event) => {
    event.preventDefault();
    try {
      await send('POST', '/ui/login', { body: JSON.stringify({ key: key.value }) });
      frame();
    } catch (why) {
      if (why.status !== 401) fill(said, plain(`${why.message} ${why.hint ?? ''}`));
      else fill(said, 'This key is not known here, or it has expired.');
      key.select();
    }
  } }, h('h1', null, 'perdure'), h('p', null, 'This server asks for a key.'), h('label', { for: 'key' }, 'Key'), key, said, h('button', { type: 'submit' }, 'Log in'),
  h('p', { class: 'hint' }, 'Whoever runs the server makes one: ', h('code', null, 'perdure key create')));
  fill(document.body, h('main', { id: 'view', class: 'alone' }, form), h('div', { id: 'toasts', role: 'status' }));
  key.focus();
}

async function logout() {
  try { await send('POST', '/ui/logout', { body: '{}' }); } catch (why) { fail(why); return; }
  location.reload();
}

// --- the frame --------------------------------------------------------------

/** What the caller may do and how the server is; null until it is known. */
export let server = null;
/** May whoever looks do this? Not, as long as nobody knows. */
export const may = (scope) => server?.scopes?.includes(scope) ?? false;

const out = h('button', { type: 'button', class: 'quiet', hidden: true, title: 'Log out', 'aria-label': 'Log out', onclick: logout }, icon('out'));
async function known() {
  server = await get('overview');
  out.hidden = !server.keys;
}

async function frame() {
  const pick = h('button', { type: 'button', class: 'quiet', onclick: () => { theme(THEMES[(THEMES.indexOf(stored()) + 1) % 3]); named(); } }, icon('sun'));
  const named = () => { pick.title = `Theme: ${stored()}`; pick.setAttribute('aria-label', pick.title); };
  named();
  const nav = h('nav', { 'aria-label': 'Pages' }, PAGES.filter((p) => p.icon).map((p) => h('a', { href: link(p.path), 'data-path': p.path, 'aria-label': p.title }, icon(p.icon), h('span', null, p.title))));
  fill(document.body, h('a', { class: 'skip', href: '#view', onclick: (e) => { e.preventDefault(); view.focus(); } }, 'To the content'),
    h('header', { class: 'bar' }, h('a', { class: 'brand', href: link('') }, h('span', { class: 'logo', 'aria-hidden': 'true' }), 'perdure'), nav,
      h('div', { class: 'tools' }, live, pick, h('button', { type: 'button', class: 'quiet', title: 'Keys (?)', 'aria-label': 'Keys', onclick: help }, icon('keys')), out)),
    view, h('div', { id: 'toasts', role: 'status' }));
  await show();
}

theme(setting('theme') ?? 'system');
whenLocked(login);
whenState((state) => fill(live, state ? badge(state === 'live' ? 'live' : state === 'stale' ? 'stale' : 'wait', state) : ''));
addEventListener('hashchange', async () => {
  const isHere = page.turn && document.activeElement?.closest?.('#view');
  await show();
  if (!isHere && !document.activeElement?.closest?.('.bar')) view.focus({ preventScroll: true });
});
addEventListener('keydown', onKey);
// A browser may keep a page that was left, with its stream, which takes one of
// the six connections that it has for a server.
addEventListener('pagehide', () => { page.close?.(); page = {}; });
addEventListener('pageshow', (event) => { if (event.persisted) show(); });
frame();
