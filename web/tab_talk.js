// The conversation: turns as they are stored, what runs say meanwhile, and a
// box to say something.

import { at, get, json, send, unique } from './api.js';
import { may } from './app.js';
import { button, empty, fail, fill, h, name, plain, said, update } from './dom.js';
import { read } from './json.js';
import { calm } from './live.js';
import { long } from './long.js';
import { approval, entry, turns } from './shapes.js';
import { join, Running, turnView } from './talk.js';

const PAGE = 60; // entries that are read at once
const DRAW_MS = 120;
const KEPT = 50; // runs whose events are kept, for what was said in vain

export default async function talk(body, { path, head, look, agent }) {
  let epoch = head().epoch;
  let heardBefore = head().events?.next ?? 0; // events before this one were there when the page was opened
  let gone = head().lastSeq - head().entries; // entries that were removed: the oldest ones
  let atWork = ''; // the run that was at work then
  const sent = new Map(); // by run: what was sent here and is not in the session yet
  let again = null; // {message, key}: what may have been sent in spite of an error
  const running = new Map(); // by run
  const told = new Set(); // runs whose response is in the session
  const list = h('div', { class: 'turns', role: 'log', 'aria-live': 'off', 'aria-label': 'Conversation' });
  const tail = h('div', { class: 'tail' });
  const none = h('div');
  const scroll = h('div', { class: 'talk', role: 'region', tabindex: '0', 'aria-label': 'Conversation' });
  const latest = h('button', { type: 'button', class: 'latest', hidden: true }, 'Latest');
  const heard = h('div', { class: 'away', role: 'status' });
  const stop = button({ class: 'plain', hidden: true }, cancel, 'Stop the run');
  const ctx = { ...join([]), decide: agent && may('run') ? decide : null, voided: (run) => running.get(run)?.voided() };

  const win = long({ scroll, list, draw, async read(from, isBack) {
    const page = await get(at([...path, 'entries'], { from, backwards: isBack ? 'true' : '', limit: PAGE }));
    const items = page.items.map(entry);
    return { items: isBack ? items.reverse() : items, isAll: page.next === null };
  } });
  fill(scroll, win.top, none, list, win.bottom, tail);

  // A turn that stays the same keeps its element, so that what is open stays open.
  let drawn = new Map();
  function draw(entries) {
    const now = new Map();
    Object.assign(ctx, join(entries.flatMap((e) => e.messages)));
    for (const e of entries) {
      if (e.kind === 'response') told.add(e.correlation);
      sent.delete(e.correlation);
      if (again?.key !== e.correlation) continue;
      if (box.value.trim() === again.message) { box.value = ''; grow(); }
      again = null;
    }
    for (const t of turns(entries)) {
      const has = t.entries.flatMap((e) => e.messages.flatMap((m) => m.contents.map((c) => (ctx.links.has(c) ? 1 : 0) + (ctx.answers.has(c) ? 2 : 0) + (ctx.asked.has(c) ? 4 : 0)))).join('');
      const key = `${t.entries[0].digest} ${t.entries.length} ${has} ${running.get(t.correlation)?.hasVoid() ?? ''}`;
      now.set(key, drawn.get(key) ?? turnView(t, ctx));
    }
    drawn = now;
    update(list, ...now.values());
    drawTail();
  }

  const ended = () => [...running.values()].filter((r) => r.isOver);
  const live = () => [...running.values()].filter((r) => !told.has(r.run));

  function drawTail() {
    const open = live();
    const waiting = [...sent.values()];
    tail.hidden = !win.atEnd;
    update(tail, waiting.map((s) => h('div', { class: 'msg is-user is-sent', 'data-key': s.key }, h('div', { class: 'who' }, 'You', h('time', null, s.isTaken ? 'waits for its turn' : 'sending')), h('div', { class: 'said', dir: 'auto' }, said(s.message)))),
      open.map((r) => r.draw(head().agent)));
    stop.hidden = !may('run') || !(open.some((r) => !r.isOver) || head().state === 'running');
    update(none, !win.items.length && !open.length && !waiting.length ? empty('Nothing has been said yet', agent ? 'Write something below.' : 'When something is said, it appears here.') : null);
  }

  const redraw = calm(() => { const stay = win.isAtBottom(); drawTail(); if (stay) win.toBottom(); }, DRAW_MS);

  function anew() {
    drawn.clear();
    running.clear();
    told.clear();
    sent.clear();
    return win.newest();
  }

  /** The session is another one than before. */
  async function changed(now) {
    if (now.epoch !== epoch) {
      await anew();
      epoch = now.epoch;
      heardBefore = 0;
      return;
    }
    const { lastSeq, entries } = now;
    const isCut = lastSeq - entries !== gone && win.items[0]?.seq <= lastSeq - entries;
    gone = lastSeq - entries;
    if (isCut) await win.newest();
    // What is over when it is read and left no response, as a run that was cancelled, will not come.
    for (let over = null; over?.length !== ended().length;) {
      over = ended();
      for (const e of await win.fresh()) {
        if (e.kind !== 'response') continue;
        const text = e.messages.flatMap((m) => m.contents.filter((c) => c.kind === 'text').map((c) => c.text)).join(' ');
        fill(heard, plain(`${now.agent ?? 'Agent'}: ${text.slice(0, 300)}`));
      }
      for (const r of over) told.add(r.run);
    }
    if (now.state !== 'running' && !now.queued) for (const s of [...sent.values()]) if (s.isTaken) sent.delete(s.key);
    redraw();
  }

  // --- saying something -----------------------------------------------------

  const grow = () => { box.style.height = 'auto'; box.style.height = `${Math.min(box.scrollHeight, 220)}px`; };
  const box = h('textarea', { rows: '1', id: 'say', placeholder: agent ? `Write to ${plain(agent.name)}` : '', 'aria-label': 'Message', 'data-search': true,
    onkeydown: (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); say(); } }, oninput: grow });

  /** Start a run of this name. What was sent before without a reply is the same run. */
  async function start(text, key) {
    try {
      await json('POST', at([...path, 'runs']), { body: text, headers: { Prefer: 'respond-async', 'Idempotency-Key': key } });
    } catch (why) {
      if (why.slug !== 'idempotency-in-progress') throw why;
    }
  }

  async function say() {
    const message = box.value.trim();
    if (!message) return;
    const mine = again?.message === message ? again : { message, key: unique(), isTaken: false };
    again = mine;
    sent.set(mine.key, mine);
    box.value = '';
    grow();
    drawTail();
    win.toBottom();
    try {
      if (!win.atEnd) await win.newest();
      await start(JSON.stringify({ message }), mine.key);
      mine.isTaken = true;
      if (again === mine) again = null;
    } catch (why) {
      sent.delete(mine.key);
      if (!box.value) box.value = message;
      grow();
      drawTail();
      fail(why);
      return;
    }
    drawTail();
    look();
  }

  // What was asked together is answered together. Gives how many are left.
  const decided = new Map(); // by the request itself: {isApproved, key}
  function decide(ask, isApproved) {
    const of = win.items.find((e) => e.messages.some((m) => m.contents.includes(ask)));
    const together = of.messages.flatMap((m) => m.contents).filter((c) => c.kind === 'ask' && !ctx.answers.has(c));
    decided.set(ask, { isApproved, key: decided.get(ask)?.key ?? unique() });
    const left = together.filter((a) => decided.get(a)?.isApproved === undefined).length;
    if (left === 0) {
      const key = `${decided.get(together[0]).key}-${together.map((a) => Number(decided.get(a).isApproved)).join('')}`;
      start(approval(together.map((a) => [a, decided.get(a).isApproved])), key).then(look, (why) => {
        for (const a of together) decided.set(a, { key: decided.get(a).key });
        drawn.clear();
        draw(win.items);
        fail(why);
      });
    }
    return left;
  }

  async function cancel() {
    const run = live().findLast((r) => !r.isOver)?.run ?? (await get(at([...path, 'journal'], { limit: 1 }))).items[0]?.correlationId;
    if (run) await send('POST', at([...path, 'runs', run, 'cancel']), { body: '{}' });
    look();
  }

  const write = agent && may('run')
    ? h('form', { class: 'say', onsubmit: (e) => { e.preventDefault(); say(); } }, box, h('div', { class: 'row' }, stop, h('button', { type: 'submit' }, 'Send')))
    : h('div', { class: 'say dim' }, !may('run') && agent ? 'The key that you use may read, and not write to agents.'
      : head().agent ? ['The agent ', name(head().agent), ' is not at this server: what was said is here to read.'] : 'No agent belongs to this session: what was said is here to read.');

  latest.addEventListener('click', async () => {
    try { if (!win.atEnd) await win.newest(); } catch (why) { fail(why); }
    win.toBottom();
  });
  scroll.addEventListener('scroll', () => { latest.hidden = win.isAtBottom() && win.atEnd; }, { passive: true });

  if (head().state === 'running') atWork = await get(at([...path, 'journal'], { limit: 1 })).then((p) => p.items[0]?.correlationId ?? '', () => '');
  await win.newest();
  fill(body, scroll, h('div', { class: 'foot' }, latest, write), heard);
  win.toBottom();

  return {
    changed,
    gone() { fill(write, 'This session was deleted.'); },
    event(event) {
      const n = Number(event.id);
      let data;
      try { data = read(event.data); } catch { return; }
      const { run } = data;
      if (event.event === 'reset' || !run) { look(); return; }
      // What runs said that were over when the page was opened is in the session.
      if (n < heardBefore && run !== atWork) return;
      const isNew = !running.has(run);
      if (isNew) running.set(run, new Running(run));
      for (const old of running.keys()) if (running.size > KEPT && told.has(old)) running.delete(old);
      running.get(run).take(n, event.event, data);
      if (isNew || running.get(run).isOver) look();
      redraw();
    },
  };
}
