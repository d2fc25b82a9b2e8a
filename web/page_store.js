// What is stored: sizes, and whether it is as it was written.

import { get, post, send } from './api.js';
import { fill, h } from './dom.js';
import { bytes, count, moment, took } from './format.js';
import { badge } from './dom.js';
import { tree } from './tree.js';

/** Figures for programs: names, labels and numbers. */
function samples(text) {
  return text.split('\n').filter((l) => l && !l.startsWith('#')).map((l) => {
    const cut = l.lastIndexOf(' ');
    return [l.slice(0, cut), l.slice(cut + 1)];
  }).filter(([n]) => !/_bucket\{/.test(n));
}

export default async function store(view, { isCurrent }) {
  const o = await get('overview');
  if (!isCurrent()) return;
  const result = h('div', { role: 'status' });
  const figures = h('div');
  const go = h('button', { type: 'button', onclick: check }, 'Check everything');

  async function check() {
    const began = performance.now();
    go.disabled = true;
    fill(result, h('p', { class: 'dim' }, 'Reading all of it. This can take a while.'));
    try {
      const told = await post('verify');
      fill(result, h('p', { class: 'row' }, told.ok ? badge('ok', 'all of it is as it was written') : badge('error', 'damaged'), h('span', { class: 'dim' }, took(performance.now() - began))), tree(JSON.stringify(told), { open: told.ok ? 1 : 3 }));
    } catch (why) { fill(result, h('p', { class: 'bad' }, `${why.message} ${why.hint ?? ''}`)); }
    go.disabled = false;
  }

  async function metrics() {
    try {
      const text = await (await send('GET', '/metrics')).text();
      fill(figures, h('div', { class: 'scroll' }, h('table', null, h('caption', { class: 'away' }, 'Figures'), h('tbody', null, samples(text).map(([n, v]) => h('tr', null, h('td', null, h('code', null, n)), h('td', { class: 'num' }, v)))))));
    } catch (why) { fill(figures, h('p', { class: 'bad' }, why.message)); }
  }

  const sizes = Object.entries(o.storage ?? {});
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Store')), h('div', { class: 'stack' },
    h('section', { class: 'panel' }, h('h2', null, 'Sizes'), h('dl', { class: 'facts-list' }, h('dt', null, 'Sessions'), h('dd', null, count(o.sessions.total)), sizes.map(([k, v]) => [h('dt', null, k === 'bytes' ? 'Stored' : k), h('dd', null, typeof v === 'number' && /bytes|log|wal|size/i.test(k) ? bytes(v) : String(v))]),
      h('dt', null, 'Tenant'), h('dd', null, o.tenant ?? 'default'), h('dt', null, 'Server since'), h('dd', null, moment(o.since)), h('dt', null, 'Version'), h('dd', null, o.version ?? ''))),
    h('section', { class: 'panel' }, h('h2', null, 'Is it whole?'), h('p', null, 'Each entry has a digest. This reads all sessions and compares.'), go, result),
    h('section', { class: 'panel' }, h('h2', null, 'Export'), h('p', null, 'All sessions, a line each, as ', h('code', null, 'perdure session import'), ' reads them.'), h('a', { class: 'button plain', href: '/api/v1/export', download: 'sessions.jsonl' }, 'Download')),
    h('section', { class: 'panel' }, h('details', { ontoggle: (e) => e.target.open && metrics() }, h('summary', null, 'Figures for Prometheus'), figures))));
}
