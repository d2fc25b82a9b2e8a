// How things are: what is stored, what is at work, who waits for a person.

import { at, get } from './api.js';
import { link, may, trouble } from './app.js';
import { badge, empty, fill, h, name, SVG, update } from './dom.js';
import { bytes, count, moment, since } from './format.js';
import { calm, follow } from './live.js';

const STATES = [['running', 'running'], ['waiting', 'waiting'], ['idle', 'idle'], ['expired', 'expired']];

function figure(title, value, note, href) {
  return h('div', { class: 'figure' }, h('dt', null, title), h('dd', { class: 'big' }, href ? h('a', { href, 'aria-label': `${title}: ${value}` }, value) : value), note ? h('dd', { class: 'dim' }, note) : null);
}

function shares(sessions, total) {
  const svg = document.createElementNS(SVG, 'svg');
  let x = 0;
  svg.setAttribute('class', 'bars');
  svg.setAttribute('viewBox', '0 0 1000 10');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  for (const [state] of STATES) {
    const part = document.createElementNS(SVG, 'rect');
    const width = total ? (1000 * (sessions[state] ?? 0)) / total : 0;
    for (const [k, v] of Object.entries({ class: `bar-${state}`, x, y: 0, width: Math.max(0, width - (width > 8 ? 3 : 0)), height: 10 })) part.setAttribute(k, v);
    x += width;
    svg.append(part);
  }
  return svg;
}

/** The bar has the same in words. */
function bar(sessions) {
  return h('section', { class: 'panel', 'aria-label': 'Sessions by state' }, h('h2', null, 'Sessions'), shares(sessions, sessions.total),
    h('ul', { class: 'legend' }, STATES.map(([s, word]) => h('li', null, h('a', { href: link('sessions', [], { state: s }) }, badge(s, word), h('b', { class: 'num' }, count(sessions[s] ?? 0)))))));
}

function sessionList(title, list, none, all) {
  const row = (s) => h('li', { 'data-key': s.id }, h('a', { href: link(s.kind === 'chat' ? 'chat' : 'session', [s.id]), 'data-row': true }, name(s.id)), s.agent ? h('span', { class: 'dim agent-name' }, name(s.agent)) : null, badge(s.state), h('span', { class: 'dim', title: moment(s.changed) }, since(s.changed)));
  return h('section', { class: 'panel' }, h('div', { class: 'head' }, h('h2', null, title), list.next || list.items.length > 6 ? h('a', { href: all }, 'All of them') : null),
    list.items.length ? h('ul', { class: 'plain-list' }, list.items.slice(0, 6).map(row)) : h('p', { class: 'dim' }, none));
}

export default async function overview(view, { isCurrent }) {
  const body = h('div', { class: 'stack' });
  async function load() {
    const [o, waiting, running, latest] = await Promise.all([get('overview'), ...['waiting', 'running', ''].map((state) => get(at(['sessions'], { state, limit: 7 })))]);
    if (!isCurrent()) return;
    const { runs, tokens } = o;
    update(body, h('dl', { class: 'figures' },
      figure('Sessions', count(o.sessions.total), o.sessions.waiting ? h('span', { class: 'warn' }, `${count(o.sessions.waiting)} waiting for a person`) : 'none waiting for a person', link('sessions')),
      figure('Runs now', count(runs.now), runs.queued ? `${count(runs.queued)} waiting` : 'none waiting', link('runs')),
      figure('Runs ended', count(runs.completed + runs.failed + runs.cancelled), [runs.failed ? h('span', { class: 'bad' }, `${count(runs.failed)} failed`) : 'none failed', runs.cancelled ? `, ${count(runs.cancelled)} cancelled` : '']),
      figure('Taken over', count(runs.recovered), 'after a process died'),
      figure('Tokens', count(tokens.total), `${count(tokens.input)} in, ${count(tokens.output)} out`),
      figure('Stored', bytes(o.storage.bytes), o.storage.log ? `and ${bytes(o.storage.log)} in the log` : 'all of it in one place', link('store'))),
    o.sessions.total === 0 ? empty('Nothing is stored yet', 'Say something to an agent, and its session is here:', h('pre', null, `curl -d 'Hello' ${location.origin}/api/agents/NAME/run?session_id=first`), may('run') ? h('a', { class: 'button', href: link('agents') }, 'Try an agent') : '')
      : [bar(o.sessions), h('div', { class: 'halves' }, sessionList('Waiting for a person', waiting, 'None. A session is here when its agent asks before it acts.', link('sessions', [], { state: 'waiting' })), sessionList('At work', running, 'No run is at work.', link('runs'))),
        sessionList('Changed last', latest, '', link('sessions'))],
    h('p', { class: 'dim small' }, `Runs and tokens are those of this server since ${moment(o.since)}, when it began.`));
  }
  await load();
  if (!isCurrent()) return null;
  fill(view, h('div', { class: 'head' }, h('h1', null, 'Overview')), body);
  const again = calm(() => load().catch((why) => isCurrent() && why.status !== 0 && fill(body, trouble(why, again))), 1000);
  return { close: follow(() => 'events', { event: again, gone: (why) => fill(body, trouble(why)) }) };
}
