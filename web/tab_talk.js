// The conversation: a window of turns around what is looked at. However long it
// is, as many are in the page as a few screens hold; others are read when they
// come into sight.

import { at, get, json, Problem, send } from './api.js';
import { may, trouble } from './app.js';
import { empty, fill, h, name, said, toast } from './dom.js';
import { calm } from './live.js';
import { approval, entry, turns } from './shapes.js';
import { index, Running, turnView } from './talk.js';

const PAGE = 60; // entries that are read at once
const MOST = 240; // that are in the page
const DRAW_MS = 120;

export default async function talk(body, { id, path, head, look, agent, query }) {
  let entries = []; // the window, in order
  let atStart = true;
  let atEnd = true;
  let isBusy = false;
  let sent = null; // what was sent and is not in the session yet
  const running = new Map(); // by run
  const done = new Set(); // runs whose end was heard
  const list = h('div', { class: 'turns', role: 'log', 'aria-live': 'off', 'aria-label': 'Conversation' });
  const top = h('div', { class: 'edge' });
  const bottom = h('div', { class: 'edge' });
  const tail = h('div', { class: 'tail' });
  const scroll = h('div', { class: 'talk', tabindex: '0', 'aria-label': 'Conversation' }, top, list, bottom, tail);
  const latest = h('button', { type: 'button', class: 'latest', hidden: true }, 'Latest');
  const heard = h('div', { class: 'away', role: 'status' });

  const ctx = { calls: new Map(), results: new Map(), answers: new Map(), asked: new Map(), decide: agent && may('run') ? decide : null,
    voided: (run) => running.get(run)?.voided() };

  const isAtBottom = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 90;
  const toBottom = () => { scroll.scrollTop = scroll.scrollHeight; };

  // Turns that stay the same keep their element, so that what is open stays open.
  const drawn = new Map();
  function draw() {
    const now = new Map();
    for (const t of turns(entries)) {
      const key = `${t.entries[0].seq}:${t.entries.length}:${t.entries.flatMap((e) => e.messages.flatMap((m) => m.contents.map((c) => (c.kind === 'ask' ? Boolean(ctx.answers.get(c.id)) : c.kind === 'call' ? Boolean(ctx.results.get(c.id)) : '')))).join('')}`;
      now.set(key, drawn.get(key) ?? turnView(t, ctx));
    }
    drawn.clear();
    for (const [k, el] of now) drawn.set(k, el);
    const els = [...now.values()];
    const kept = new Set(els);
    for (const el of [...list.children]) if (!kept.has(el)) el.remove();
    els.forEach((el, i) => { if (list.children[i] !== el) list.insertBefore(el, list.children[i] ?? null); });
    fill(top, !entries.length ? '' : atStart ? h('p', { class: 'dim' }, 'The beginning') : h('button', { type: 'button', class: 'link', onclick: older }, 'Earlier'));
    fill(bottom, atEnd ? '' : h('button', { type: 'button', class: 'link', onclick: newer }, 'Later'));
    if (!entries.length && !running.size && !sent) fill(list, empty('Nothing has been said yet', agent ? 'Write something below.' : 'When something is said, it appears here.'));
    drawTail();
  }

  function drawTail() {
    const open = [...running.values()].filter((r) => !done.has(r.run));
    tail.hidden = !atEnd;
    fill(tail, sent ? h('div', { class: 'msg is-user is-sent' }, h('div', { class: 'who' }, 'You', h('time', null, 'sending')), h('div', { class: 'said', dir: 'auto' }, said(sent))) : null,
      open.map((r) => { r.draw(head().agent); return r.el; }));
    fill(stop, open.length && may('run') ? h('button', { type: 'button', class: 'plain', onclick: () => cancel(open[0].run) }, 'Stop the run') : null);
  }

  const redraw = calm(() => { const stay = isAtBottom(); drawTail(); if (stay) toBottom(); }, DRAW_MS);

  /** Entries behind `seq`, or before it. */
  async function read(from, isBack) {
    const page = await get(at([...path, 'entries'], { from, backwards: isBack ? 'true' : '', limit: PAGE }));
    const items = page.items.map(entry);
    return { items: isBack ? items.reverse() : items, isAll: page.next === null };
  }

  async function older() {
    if (isBusy || atStart) return;
    isBusy = true;
    try {
      const more = await read(entries[0].seq - 1, true);
      const first = list.firstElementChild;
      const was = first?.getBoundingClientRect().top;
      entries = [...more.items, ...entries];
      atStart = more.isAll || entries[0].seq <= 1;
      if (entries.length > MOST) { entries = entries.slice(0, MOST); atEnd = false; }
      index(more.items.flatMap((e) => e.messages), ctx);
      draw();
      if (first?.isConnected) scroll.scrollTop += first.getBoundingClientRect().top - was;
    } catch (why) { fill(top, trouble(why, older)); }
    isBusy = false;
  }

  async function newer() {
    if (isBusy || atEnd) return;
    isBusy = true;
    try {
      const more = await read(entries.at(-1).seq + 1, false);
      const last = list.lastElementChild;
      const was = last?.getBoundingClientRect().top;
      entries = [...entries, ...more.items];
      atEnd = more.isAll;
      if (entries.length > MOST) { entries = entries.slice(-MOST); atStart = false; }
      index(more.items.flatMap((e) => e.messages), ctx);
      draw();
      if (last?.isConnected) scroll.scrollTop += last.getBoundingClientRect().top - was;
    } catch (why) { fill(bottom, trouble(why, newer)); }
    isBusy = false;
  }

  /** What came since the last entry that is here. */
  async function fresh() {
    if (!atEnd) return;
    const stay = isAtBottom();
    for (;;) {
      const more = await read((entries.at(-1)?.seq ?? 0) + 1, false);
      const here = new Set(entries.map((e) => e.seq));
      const items = more.items.filter((e) => !here.has(e.seq));
      entries = [...entries, ...items].slice(-MOST);
      if (entries.length === MOST && entries[0].seq > 1) atStart = false;
      index(items.flatMap((e) => e.messages), ctx);
      if (items.some((e) => e.kind === 'request')) sent = null;
      for (const e of items) {
        if (e.kind !== 'response') continue;
        done.add(e.correlation);
        const text = e.messages.flatMap((m) => m.contents.filter((c) => c.kind === 'text').map((c) => c.text)).join(' ');
        fill(heard, `${head().agent ?? 'Agent'}: ${text.slice(0, 300)}`);
      }
      if (more.isAll) break;
    }
    draw();
    if (stay) toBottom();
  }

  async function newest() {
    const last = await read('', true);
    entries = last.items;
    atStart = last.isAll || !entries.length || entries[0].seq <= 1;
    atEnd = true;
    for (const e of entries) if (e.kind === 'response') done.add(e.correlation);
    index(entries.flatMap((e) => e.messages), ctx);
    draw();
    toBottom();
  }

  // --- saying something -----------------------------------------------------

  const stop = h('span');
  const box = h('textarea', { rows: '1', id: 'say', placeholder: agent ? `Write to ${agent.name}` : '', 'aria-label': 'Message', 'data-search': true,
    onkeydown: (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); say(); } },
    oninput: () => { box.style.height = 'auto'; box.style.height = `${Math.min(box.scrollHeight, 220)}px`; } });

  async function start(value) {
    return json('POST', at([...path, 'runs']), { body: JSON.stringify(value), headers: { Prefer: 'respond-async', 'Idempotency-Key': `"${crypto.randomUUID()}"` } });
  }

  async function say() {
    const message = box.value.trim();
    if (!message || sent) return;
    if (!atEnd) await newest();
    sent = message;
    box.value = '';
    box.style.height = 'auto';
    draw();
    toBottom();
    try {
      await start({ message });
      await look();
    } catch (why) {
      sent = null;
      box.value = message;
      draw();
      toast(`${why.message} ${why.hint ?? ''}`, true);
    }
  }

  // What was asked together is answered together. Gives how many are left.
  const decided = new Map();
  function decide(ask, approved) {
    const all = ctx.asked.get(ask.id) ?? [ask];
    decided.set(ask.id, approved);
    const left = all.filter((a) => !decided.has(a.id)).length;
    if (left === 0) {
      start(approval(all.map((a) => [a, decided.get(a.id)]))).then(look, (why) => {
        for (const a of all) decided.delete(a.id);
        toast(`${why.message} ${why.hint ?? ''}`, true);
        drawn.clear();
        draw();
      });
    }
    return left;
  }

  async function cancel(run) {
    try { await send('POST', at([...path, 'runs', run, 'cancel']), { body: '{}' }); } catch (why) { toast(why.message, true); }
    look();
  }

  const write = agent && may('run')
    ? h('form', { class: 'say', onsubmit: (e) => { e.preventDefault(); say(); } }, box, h('div', { class: 'row' }, stop, h('button', { type: 'submit' }, 'Send')))
    : h('div', { class: 'say dim' }, head().agent ? ['The agent ', name(head().agent), ' is not at this server: what was said is here to read.'] : 'No agent belongs to this session: what was said is here to read.');

  latest.addEventListener('click', async () => { if (!atEnd) await newest(); toBottom(); });
  scroll.addEventListener('scroll', () => {
    latest.hidden = isAtBottom() && atEnd;
    if (scroll.scrollTop < 400) older();
    else if (scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 400) newer();
  }, { passive: true });

  fill(body, scroll, h('div', { class: 'foot' }, latest, write), heard);
  await newest();

  return {
    changed: fresh,
    gone() { fill(write, 'This session was deleted.'); },
    event(event) {
      let data;
      try { data = JSON.parse(event.data); } catch { return; }
      const run = data.run;
      if (event.event === 'reset' || !run) { look(); return; }
      if (!running.has(run)) {
        if (running.size > 50) for (const old of done) { running.delete(old); if (running.size <= 50) break; }
        running.set(run, new Running(run));
        if (!done.has(run)) look();
      }
      if (running.get(run).take(Number(event.id), event.event, data)) look().then(fresh).catch((why) => { if (!(why instanceof Problem)) throw why; });
      else if (!done.has(run)) redraw();
    },
    close() {},
  };
}
