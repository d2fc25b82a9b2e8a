// What is stored: sizes, and whether it is as it was written.

import { get, post, save, send } from './api.js';
import { may } from './app.js';
import { badge, button, fill, h, icon, name, said } from './dom.js';
import { bytes, count, many, moment, took } from './format.js';

/** Figures for programs: names, labels and numbers. */
function samples(text) {
  return text.split('\n').filter((l) => l && !l.startsWith('#')).map((l) => {
    const cut = l.lastIndexOf(' ');
    return [l.slice(0, cut), l.slice(cut + 1)];
  }).filter(([n]) => !/_bucket\{/.test(n));
}

const PARTS = [['bytes', 'The file'], ['free', 'Free room in it'], ['log', 'The log beside it']];

export default async function store(view, { isCurrent }) {
  const o = await get('overview');
  if (!isCurrent()) return;
  const result = h('div', { role: 'status' });
  const figures = h('div');
  const go = button({}, check, 'Check everything');
  const { storage } = o;

  async function check() {
    const began = performance.now();
    fill(result, h('p', { class: 'dim' }, 'Reading all of it. This can take a while.'));
    try {
      const told = await post('verify');
      const ms = took(performance.now() - began);
      fill(result, h('p', { class: 'row' }, told.ok ? badge('ok', 'all of it is as it was written') : badge('error', `${many(told.bad, 'row')} damaged`), h('span', { class: 'dim' }, `${many(told.sessions, 'session')}, ${many(told.entries, 'entry', 'entries')}, ${many(told.rows, 'other row')} in ${ms}`)),
        told.findings.length ? h('ul', { class: 'finds' }, told.findings.map((f) => h('li', null, h('b', null, name(f.table)), ' ', said(`${f.row}: ${f.what}`)))) : null,
        told.bad > told.findings.length ? h('p', { class: 'dim' }, `The first ${count(told.findings.length)} are shown.`) : null);
    } catch (why) { fill(result, h('p', { class: 'bad' }, said(`${why.message} ${why.hint ?? ''}`))); }
  }

  async function metrics() {
    try {
      const text = await (await send('GET', '/metrics')).text();
      fill(figures, h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Figures' }, h('table', null, h('caption', { class: 'away' }, 'Figures'), h('tbody', null, samples(text).map(([n, v]) => h('tr', null, h('td', null, h('code', null, n)), h('td', { class: 'num' }, v)))))));
    } catch (why) { fill(figures, h('p', { class: 'bad' }, said(`${why.message} ${why.hint ?? ''}`))); }
  }

  const size = (title, n, most) => {
    const bar = h('span', { class: 'heard' }, h('span'));
    bar.firstChild.style.width = `${most ? Math.min(100, (100 * n) / most) : 0}%`;
    return [h('dt', null, title), h('dd', { class: 'sized' }, h('b', { class: 'num' }, bytes(n)), bar)];
  };
  const parts = PARTS.filter(([k]) => Number.isFinite(storage[k]));
  const most = Math.max(...parts.map(([k]) => storage[k]));
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Store')), h('div', { class: 'stack' },
    h('div', { class: 'halves' },
      h('section', { class: 'panel' }, h('h2', null, 'Sizes'), h('dl', { class: 'facts-list' }, parts.map(([k, title]) => size(title, storage[k], most)),
        storage.backend ? [h('dt', null, 'Kind'), h('dd', null, `${storage.backend}, schema ${storage.schema}`)] : null,
        storage.unseen ? [h('dt', null, 'Being cleared'), h('dd', null, many(storage.unseen, 'session'))] : null,
        h('dt', null, 'Digests'), h('dd', null, storage.keyed ? 'with a key: tampering shows' : 'without a key: damage shows'))),
      h('section', { class: 'panel' }, h('h2', null, 'This server'), h('dl', { class: 'facts-list' }, h('dt', null, 'Sessions'), h('dd', null, count(o.sessions.total)), h('dt', null, 'Tenant'), h('dd', null, name(o.tenant ?? 'default')),
        h('dt', null, 'Since'), h('dd', null, moment(o.since)), h('dt', null, 'Version'), h('dd', null, o.version ?? ''), h('dt', null, 'You may'), h('dd', null, (o.scopes ?? []).join(', '))))),
    h('section', { class: 'panel' }, h('h2', null, 'Is it whole?'), h('p', null, 'Each row has a digest. This reads all sessions and compares.'), go, result),
    h('section', { class: 'panel' }, h('h2', null, 'Export'), h('p', null, 'All sessions, a line each, as ', h('code', null, 'perdure session import'), ' reads them. Chats are saved one by one.'), button({ class: 'plain' }, () => save('export', 'sessions.jsonl'), icon('file'), 'Download')),
    may('admin') ? h('section', { class: 'panel' }, h('details', { ontoggle: (e) => e.target.open && metrics() }, h('summary', null, 'Figures for Prometheus'), figures)) : null));
}
