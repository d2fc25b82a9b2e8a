// How a turn looks: who said what, calls of tools with their results, thoughts,
// media, errors, approvals, tokens. Made of entries (shapes.js), or of events
// while it is still under way.

import { badge, fill, h, icon, name, said } from './dom.js';
import { bytes, clock, count, moment, short, took } from './format.js';
import { tree } from './tree.js';

const PICTURES = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
const MOST_PICTURE = 3000000;

const text = (value) => h('div', { class: 'said', dir: 'auto' }, said(value));

function folded(kind, title, value) {
  return h('details', { class: kind }, h('summary', null, icon('thought'), title), text(value));
}

function media(c) {
  const uri = String(c.uri ?? '');
  const type = c.media || (uri.startsWith('data:') ? uri.slice(5).split(/[;,]/)[0] : '');
  const label = [c.name, type, uri.startsWith('data:') ? bytes(Math.round((uri.length - uri.indexOf(',')) * 0.75)) : uri].filter(Boolean);
  if (PICTURES.test(uri) && uri.length < MOST_PICTURE) return h('figure', { class: 'media' }, h('img', { src: uri, alt: c.name || 'a picture of the conversation' }), h('figcaption', null, said(label.join(', '))));
  return h('div', { class: 'media file' }, icon('file'), h('span', null, said(label.join(', ') || 'data')));
}

const compact = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

function part(title, value) {
  if (value === undefined || value === null) return null;
  return h('div', { class: 'part' }, h('div', { class: 'part-title' }, title), typeof value === 'string' ? h('pre', { class: 'said', dir: 'auto' }, said(value)) : tree(JSON.stringify(value), { open: 2 }));
}

/** A call, with what came of it. `state`: running, done, failed, asked, told. */
function card(call, result, state, extra) {
  const words = { running: 'at work', done: 'done', failed: 'failed', asked: 'waits for a person', approved: 'approved', declined: 'declined', left: 'no result' };
  const looks = { running: 'running', done: 'ok', failed: 'error', asked: 'waiting', approved: 'ok', declined: 'error', left: 'idle' };
  const brief = compact(call.arguments);
  return h('details', { class: 'card', open: state === 'asked' },
    h('summary', null, icon('tool'), h('b', null, name(call.name || 'a tool')), h('code', { class: 'brief' }, said(brief.length > 120 ? brief.slice(0, 120) + '…' : brief)), badge(looks[state], words[state])),
    part('Arguments', call.arguments), result ? part('Result', result.result ?? '') : null, extra);
}

function usageLine(usage) {
  return usage ? h('span', { title: `${count(usage.input)} in, ${count(usage.output)} out` }, `${count(usage.total)} tokens`) : null;
}

/** A part of a message; null: there is nothing to see. */
export function partView(c, ctx) {
  const result = c.kind === 'call' ? ctx.results.get(c.id) : null;
  switch (c.kind) {
    case 'text': return c.text !== '' ? text(c.text) : null;
    case 'reasoning': return folded('thought', 'Thoughts', c.text);
    case 'call': return card(c, result, result ? (result.failed ? 'failed' : 'done') : 'left');
    case 'result': return ctx.calls.has(c.id) ? null : card({ name: 'result' }, c, 'done');
    case 'data': return media(c);
    case 'error': return h('div', { class: 'failure' }, icon('cross'), h('span', null, said(c.code && c.code !== c.text ? `${c.code}: ${c.text}` : c.text)));
    case 'usage': return null;
    case 'ask': return asked(c, ctx);
    case 'told': return h('div', { class: 'answered' }, badge(c.approved ? 'ok' : 'error', c.approved ? 'approved' : 'declined'), ' ', name(c.call.name));
    default: return h('details', { class: 'other' }, h('summary', null, h('span', { class: 'mark' }, 'unknown'), ' ', name(c.raw?.$type ?? c.raw?.type ?? 'content')), tree(JSON.stringify(c.raw ?? null), { open: 2 }));
  }
}

/** Calls, results and answers of these messages, by their ids. */
export function index(messages, ctx) {
  for (const m of messages) for (const c of m.contents) {
    if (c.kind === 'call') ctx.calls.set(c.id, c);
    else if (c.kind === 'result') ctx.results.set(c.id, c);
    else if (c.kind === 'told') ctx.answers.set(c.id, c);
    else if (c.kind === 'ask') ctx.asked?.set(c.id, m.contents.filter((x) => x.kind === 'ask'));
  }
}

/** A turn from its entries. `ctx`: results and answers by id, decide(ask, yes), voided(run). */
export function turnView(turn, ctx) {
  const made = [];
  let who = null;
  for (const e of turn.entries) {
    for (const m of e.messages) {
      const parts = [];
      for (const c of m.contents) {
        const el = partView(c, ctx);
        if (el) parts.push(el);
      }
      if (!parts.length) continue;
      const author = m.author || { user: 'You', assistant: 'Agent', system: 'System', tool: 'Tool' }[m.role] || m.role || e.kind;
      const same = who === author + m.role || (m.role === 'tool' && who !== null);
      made.push(h('div', { class: `msg is-${m.role || 'none'}` }, same ? null : h('div', { class: 'who' }, name(author), h('time', { datetime: e.created, title: moment(e.created) }, clock(e.created))), parts));
      if (m.role !== 'tool') who = author + m.role;
    }
    if (!e.messages.length && e.kind !== 'record') made.push(h('details', { class: 'other' }, h('summary', null, e.kind), tree(JSON.stringify(e.raw ?? null), { open: 2 })));
  }
  const usage = turn.response?.usage;
  const ms = turn.response ? Date.parse(turn.response.created) - Date.parse(turn.entries[0].created) : NaN;
  return h('article', { class: turn.response?.isError ? 'turn failed' : 'turn', 'data-run': turn.correlation || null, 'data-seq': turn.entries[0].seq },
    made, ctx.voided?.(turn.correlation),
    !turn.response && turn.correlation ? null : h('footer', null, turn.response?.isError ? badge('error', 'failed') : null, usageLine(usage), turn.response ? h('span', null, took(ms)) : null,
      turn.correlation ? h('span', { class: 'run', title: turn.correlation }, `run ${short(turn.correlation)}`) : null, h('span', null, `entry ${turn.entries.map((e) => e.seq).join(', ')}`)));
}

function asked(c, ctx) {
  const answer = ctx.answers.get(c.id);
  if (answer) return card(c.call, null, answer.approved ? 'approved' : 'declined');
  const act = (yes) => (event) => {
    const row = event.target.closest('.row');
    const left = ctx.decide(c, yes);
    fill(row, badge(yes ? 'ok' : 'error', yes ? 'approved' : 'declined'), left ? h('span', { class: 'dim' }, 'sent when the others are decided, too') : null);
  };
  return card(c.call, null, 'asked', ctx.decide ? h('div', { class: 'row' },
    h('button', { type: 'button', onclick: act(true) }, 'Approve'), h('button', { type: 'button', class: 'plain', onclick: act(false) }, 'Decline')) : null);
}

// --- a run that is under way ------------------------------------------------

/** What the events of a run say so far. */
export class Running {
  constructor(run) {
    this.run = run;
    this.parts = []; // {n, kind: message | reasoning | call | note, text, call, result, isVoid}
    this.attempt = 1;
    this.el = h('div', { class: 'msg is-assistant is-live' });
  }

  /** Take an event; true if the run is over. */
  take(n, event, data) {
    if (event === 'message' || event === 'reasoning') {
      const last = this.parts.at(-1);
      if (last?.kind === event && !last.isVoid && !last.ended) { last.pieces.push([n, data.text]); } else this.parts.push({ n, kind: event, pieces: [[n, data.text]] });
    } else if (event === 'tool_call') {
      let args = data.arguments;
      try { args = JSON.parse(args); } catch { /* as it is */ }
      this.parts.push({ n, kind: 'call', call: { id: data.call_id, name: data.name, arguments: args } });
    } else if (event === 'tool_result') {
      const of = this.parts.findLast((p) => p.kind === 'call' && p.call.id === data.call_id && !p.result && !p.isVoid);
      if (of) of.result = { result: data.result, failed: data.failed, n };
    } else if (event === 'attempt') {
      this.attempt = data.attempt;
      this.discard(data.counts);
    }
    return event === 'done' || event === 'error';
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
        if (goes.length) kept.push({ ...p, pieces: goes, isVoid: true });
      } else {
        if (p.result?.n > n) p.result = null;
        kept.push(p.n > n ? { ...p, isVoid: true } : p);
      }
    }
    this.parts = kept;
  }

  hasVoid() { return this.parts.some((p) => p.isVoid); }

  text() { return this.parts.filter((p) => p.kind === 'message' && !p.isVoid).map((p) => p.pieces.map(([, t]) => t).join('')).join(''); }

  view(parts = this.parts) {
    return parts.map((p) => {
      const value = p.pieces?.map(([, t]) => t).join('');
      const el = p.kind === 'message' ? text(value) : p.kind === 'reasoning' ? folded('thought', 'Thoughts', value)
        : card(p.call, p.result, p.result ? (p.result.failed ? 'failed' : 'done') : 'running');
      return p.isVoid ? h('del', { class: 'void', title: 'said by an attempt that did not finish' }, el) : el;
    });
  }

  /** What was said in vain, for the turn that came of it. */
  voided() {
    const lost = this.parts.filter((p) => p.isVoid);
    return lost.length ? h('details', { class: 'thought' }, h('summary', null, icon('wait'), 'Discarded: an attempt that did not finish'), this.view(lost)) : null;
  }

  draw(agent) {
    const opened = [...this.el.querySelectorAll('details')].map((d) => d.open);
    this.el.replaceChildren(h('div', { class: 'who' }, name(agent || 'Agent'), h('span', { class: 'typing' }, this.attempt > 1 ? `attempt ${this.attempt}` : 'at work', h('i'), h('i'), h('i'))), ...this.view());
    [...this.el.querySelectorAll('details')].forEach((d, i) => { if (opened[i] !== undefined) d.open = opened[i]; });
  }
}

