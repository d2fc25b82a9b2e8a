// How a turn looks: who said what, calls of tools with their results, thoughts,
// media, errors, approvals, tokens. Made of entries (shapes.js), or of events
// while it is still under way.

import { badge, fill, h, icon, name, own, plain, said, solid, update } from './dom.js';
import { bytes, count, moment, short, took, when } from './format.js';
import { read, str, textOf } from './json.js';
import { tree } from './tree.js';

const PICTURES = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
const SOUNDS = /^data:(audio|video)\/[\w.+-]+(;[\w.+=-]+)*;base64,[A-Za-z0-9+/=]+$/;
const MOST_MEDIA = 6000000;

const text = (value) => h('div', { class: 'said', dir: 'auto' }, said(value));

function folded(kind, title, value) {
  return h('details', { class: kind }, h('summary', null, icon('thought'), title), text(value));
}

/** Only what the entry itself holds is ever shown; of all else, what it is. */
function media(c) {
  const uri = c.uri;
  const isHere = uri.startsWith('data:') && uri.length < MOST_MEDIA;
  const type = c.media || (uri.startsWith('data:') ? uri.slice(5).split(/[;,]/)[0] : '');
  const label = said([c.name, type, uri.startsWith('data:') ? bytes(Math.round((uri.length - uri.indexOf(',')) * 0.75)) : uri].filter(Boolean).join(', ') || 'data');
  const player = isHere && SOUNDS.test(uri) ? uri.slice(5, 10) : '';
  if (isHere && PICTURES.test(uri)) return h('figure', { class: 'media' }, h('img', { src: uri, alt: plain(c.name) || 'a picture of the conversation' }), h('figcaption', null, label));
  if (player) return h('figure', { class: 'media' }, h(player, { src: uri, controls: true, preload: 'none', 'aria-label': plain(c.name) || type }), h('figcaption', null, label));
  return h('div', { class: 'media file' }, icon('file'), h('span', null, label));
}

function part(title, value) {
  if (value === undefined || value === null) return null;
  return h('div', { class: 'part' }, h('div', { class: 'part-title' }, title),
    typeof value === 'string' ? h('pre', { class: 'said', dir: 'auto', tabindex: '0', role: 'group', 'aria-label': title }, said(value)) : tree(textOf(value), { open: 2 }));
}

const LOOKS = { running: ['running', 'at work'], done: ['ok', 'done'], failed: ['error', 'failed'], asked: ['waiting', 'waits for a person'],
  approved: ['ok', 'approved'], declined: ['error', 'declined'], left: ['idle', 'no result'] };

/** A call, with what came of it. */
function card(call, result, state, extra) {
  const brief = str(call.arguments);
  return h('details', { class: `card ${state}`, open: state === 'asked' },
    h('summary', null, icon('tool'), h('b', null, name(call.name || 'a tool')), h('code', { class: 'brief' }, said(brief.length > 120 ? brief.slice(0, 120) + '…' : brief)), badge(...LOOKS[state])),
    part('Arguments', call.arguments), result ? part(state === 'failed' ? 'Error' : 'Result', result.result ?? '') : null, extra);
}

function usageLine(usage) {
  return usage ? h('span', { title: `${count(usage.input)} in, ${count(usage.output)} out` }, `${count(usage.total)} tokens`) : null;
}

/** A part of a message; null: there is nothing to see. */
export function partView(c, ctx) {
  switch (c.kind) {
    case 'text': return c.text !== '' ? text(c.text) : null;
    case 'reasoning': return c.text !== '' ? folded('thought', 'Thoughts', c.text) : null;
    case 'call': {
      const result = ctx.links.get(c);
      if (ctx.asked.has(c)) return null; // the request for approval tells of it
      return card(c, result, result ? (result.failed ? 'failed' : 'done') : 'left');
    }
    case 'result': return ctx.links.has(c) ? null : card({ name: 'result' }, c, c.failed ? 'failed' : 'done');
    case 'data': return media(c);
    case 'error': return h('div', { class: 'failure' }, icon('cross'), h('span', null, said(c.code && c.code !== c.text ? `${c.code}: ${c.text}` : c.text)));
    case 'usage': return null;
    case 'ask': return asked(c, ctx);
    case 'told': return h('div', { class: 'answered' }, badge(c.approved ? 'ok' : 'error', c.approved ? 'approved' : 'declined'), ' ', name(c.call.name));
    default: return h('details', { class: 'other' }, h('summary', null, h('span', { class: 'mark' }, 'unknown'), ' ', name(str(c.raw?.$type ?? c.raw?.type) || 'content')), tree(textOf(c.raw), { open: 2 }));
  }
}

/**
 * What belongs together in these messages, which are in order: a call and its
 * result, a request for approval and its answer. Ids may come again in later
 * turns: what comes belongs to the last message that has the id. Gives `links`, of a call to its
 * result and back, `answers` of requests, and the calls that were `asked` for.
 */
export function join(messages) {
  const links = new Map();
  const answers = new Map();
  const asked = new Set();
  const calls = new Map(); // by id: {m, list} of the last message that has such calls
  const asks = new Map(); // by id: those that wait
  for (const m of messages) for (const c of m.contents) {
    if (c.kind === 'call') {
      if (calls.get(c.id)?.m !== m) calls.set(c.id, { m, list: [] });
      calls.get(c.id).list.push(c);
    } else if (c.kind === 'ask') {
      const at = calls.get(c.call.id)?.list;
      if (at?.length) { asked.add(at[0]); at[0] = c; }
      asks.set(c.id, [...asks.get(c.id) ?? [], c]);
    } else if (c.kind === 'told') {
      const ask = asks.get(c.id)?.pop();
      if (ask) answers.set(ask, c);
    } else if (c.kind === 'result') {
      const call = calls.get(c.id)?.list.shift();
      if (call) { links.set(call, c); links.set(c, call); }
    }
  }
  return { links, answers, asked };
}

const LABELS = { user: 'User', assistant: 'Agent', system: 'System', tool: 'Tool' };

/** A turn from its entries. `ctx`: what join() gives, decide(ask, isApproved), voided(run). */
export function turnView(turn, ctx) {
  const made = [];
  let who = null;
  for (const e of turn.entries) {
    for (const m of e.messages) {
      const parts = m.contents.map((c) => partView(c, ctx)).filter(Boolean);
      if (!parts.length) continue;
      const author = m.author || LABELS[m.role] || m.role || e.kind;
      const same = who === author + m.role || (m.role === 'tool' && who !== null);
      const role = Object.hasOwn(LABELS, m.role) ? m.role : 'other';
      made.push(h('div', { class: `msg is-${role}` }, same ? null : h('div', { class: 'who' }, name(author), h('time', { datetime: e.created, title: moment(e.created) }, when(e.created))), parts));
      if (m.role !== 'tool') who = author + m.role;
    }
    if (!e.messages.length && e.kind !== 'record') made.push(h('details', { class: 'other' }, h('summary', null, e.kind), tree(textOf(e.raw), { open: 2 })));
  }
  const { response, correlation } = turn;
  const ms = response ? Date.parse(response.created) - Date.parse(turn.entries[0].created) : NaN;
  return own(h('article', { class: response?.isError ? 'turn failed' : 'turn', 'data-run': correlation ? plain(correlation) : null, 'data-seq': turn.entries[0].seq },
    made, ctx.voided?.(correlation),
    !response && correlation ? null : h('footer', null, response?.isError ? badge('error', 'failed') : null, usageLine(response?.usage), response ? h('span', null, took(ms)) : null,
      correlation ? h('span', { class: 'run', title: plain(correlation) }, 'run ', name(short(correlation))) : null, h('span', null, `entry ${turn.entries.map((e) => e.seq).join(', ')}`))));
}

function asked(c, ctx) {
  const answer = ctx.answers.get(c);
  if (answer || ctx.links.has(c)) return card(c.call, ctx.links.get(c), answer && !answer.approved ? 'declined' : 'approved');
  const act = (isApproved) => (event) => {
    const row = event.target.closest('.row');
    const left = ctx.decide(c, isApproved);
    fill(row, badge(isApproved ? 'ok' : 'error', isApproved ? 'approved' : 'declined'), left ? h('span', { class: 'dim' }, 'sent when the others are decided, too') : null);
  };
  return card(c.call, null, 'asked', ctx.decide ? h('div', { class: 'row' },
    h('button', { type: 'button', onclick: act(true) }, 'Approve'), h('button', { type: 'button', class: 'plain', onclick: act(false) }, 'Decline')) : null);
}

// --- a run that is under way ------------------------------------------------

/** What the events of a run say so far. */
export class Running {
  constructor(run) {
    this.run = run;
    this.parts = []; // {n, kind: message | reasoning | call, pieces, call, result, isVoid}
    this.attempt = 1;
    this.isOver = false;
    this.el = own(h('div', { class: 'msg is-assistant is-live', 'data-key': run }));
  }

  /** Take an event. */
  take(n, event, data) {
    if (event === 'message' || event === 'reasoning') {
      const last = this.parts.at(-1);
      if (last?.kind === event && !last.isVoid && !last.ended) last.pieces.push([n, str(data.text)]);
      else this.parts.push({ n, kind: event, pieces: [[n, str(data.text)]] });
    } else if (event === 'tool_call') {
      let args = data.arguments;
      try { args = read(args); } catch { /* as it is */ }
      this.parts.push({ n, kind: 'call', call: { id: data.call_id, name: str(data.name), arguments: args } });
    } else if (event === 'tool_result') {
      const of = this.parts.findLast((p) => p.kind === 'call' && p.call.id === data.call_id && !p.result && !p.isVoid);
      if (of) of.result = { result: data.result, failed: data.failed, n };
    } else if (event === 'attempt') {
      this.attempt = data.attempt;
      this.discard(data.counts);
    } else if (event === 'done' || event === 'error') this.isOver = true;
  }

  /** Pieces behind event `n` were said by an attempt that died. */
  discard(n) {
    const kept = [];
    for (const p of this.parts) {
      if (p.isVoid) { kept.push(p); continue; }
      if (p.pieces) {
        const stays = p.pieces.filter(([at]) => at <= n);
        const goes = p.pieces.filter(([at]) => at > n);
        if (stays.length) kept.push({ ...p, pieces: stays, ended: goes.length > 0 });
        if (goes.length) kept.push({ ...p, n: goes[0][0], pieces: goes, isVoid: true });
      } else {
        if (p.result?.n > n) p.result = null;
        kept.push(p.n > n ? { ...p, isVoid: true } : p);
      }
    }
    this.parts = kept;
  }

  hasVoid() { return this.parts.some((p) => p.isVoid); }

  view(parts = this.parts) {
    return parts.map((p) => {
      const value = p.pieces?.map(([, t]) => t).join('');
      const state = p.result ? (p.result.failed ? 'failed' : 'done') : this.isOver || p.isVoid ? 'left' : 'running';
      const el = p.kind === 'message' ? text(value) : p.kind === 'reasoning' ? folded('thought', 'Thoughts', value) : card(p.call, p.result, state);
      const shown = p.isVoid ? h('del', { class: 'void', title: 'said by an attempt that did not finish' }, el) : el;
      shown.dataset.key = `${p.n}${p.isVoid ? ' void' : ''}`;
      return shown;
    });
  }

  /** What was said in vain, for the turn that came of it. */
  voided() {
    const lost = this.parts.filter((p) => p.isVoid);
    return lost.length ? solid(h('details', { class: 'thought' }, h('summary', null, icon('wait'), 'Discarded: an attempt that did not finish'), this.view(lost)), lost) : null;
  }

  draw(agent) {
    update(this.el, h('div', { class: 'who' }, name(agent || 'Agent'), this.isOver ? null : h('span', { class: 'typing' }, this.attempt > 1 ? `attempt ${this.attempt}` : 'at work', h('i'), h('i'), h('i'))), this.view());
    return this.el;
  }
}
