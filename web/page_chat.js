// One chat: a lane for each agent, and one for people; who has heard how much.

import { at, get, json, save, send } from './api.js';
import { link, may, trouble } from './app.js';
import { badge, button, confirm, empty, fail, fill, h, icon, name, own, plain, said, toast, update } from './dom.js';
import { count, many, moment, since } from './format.js';
import { calm, follow } from './live.js';
import { long } from './long.js';
import { chatMessage } from './shapes.js';
import { join, partView } from './talk.js';

const PAGE = 100;
const FORMS = ['native', 'sk', 'plain', 'encoded'];
const same = (a, b) => String(a).toLowerCase() === String(b).toLowerCase();

/** What a restore would do, in words. */
function report(told) {
  return h('div', { class: 'stack' }, h('p', { class: 'row' }, badge(told.case === 'invalid' ? 'error' : 'ok', told.case), many(told.count ?? 0, 'message')),
    told.findings?.length ? h('table', { class: 'list' }, h('caption', { class: 'away' }, 'What becomes of the channels'), h('tbody', null, told.findings.map((f) => h('tr', null, h('td', null, h('b', null, name(f.what))), h('td', null, name(f.name ?? f.kind ?? f.key ?? '')), h('td', { class: 'dim' }, name(f.why ?? '')))))) : h('p', { class: 'dim' }, 'Nothing is missing.'));
}

export default async function chat(view, { args, isCurrent }) {
  const id = args.join('/');
  const path = ['chats', id];
  let head = await get(at(path));
  let sent = null; // {text, seq, etag}: what was sent, to which chat and behind which message
  let unsure = null; // the same of what may have been said in spite of an error
  let isGone = false;
  let joined = join([]);
  let others = []; // authors who take no part, or not any more
  let drawn = new Map();
  const facts = h('div', { class: 'facts' });
  const heads = h('div', { class: 'lane-heads' });
  const cells = h('div', { class: 'cells', role: 'log', 'aria-live': 'off', 'aria-label': 'Messages, a lane for each agent' });
  const tail = h('div', { class: 'cells' });
  const lanes = h('div', { class: 'lanes', role: 'region', 'aria-label': 'Lanes', tabindex: '0' });
  const heard = h('div', { class: 'away', role: 'status' });
  const win = long({ scroll: lanes, list: cells, draw, async read(from, isBack) {
    const page = await get(at([...path, 'messages'], { from, backwards: isBack ? 'true' : '', limit: PAGE }));
    const items = page.items.map(chatMessage);
    return { items: isBack ? items.reverse() : items, isAll: page.next === null };
  } });
  fill(lanes, heads, win.top, cells, win.bottom, tail);

  /** The lane of a message: 0 is that of people, after the agents come others; null is all of them. */
  function laneOf(m) {
    if (m.role === 'system' || m.role === 'developer') return null;
    if (m.role === 'user' && !m.turn) return 0;
    const part = head.participants.findIndex((p) => same(p.name || p.id, m.author) || same(p.id, m.author));
    if (part >= 0) return part + 1;
    const who = m.author || m.role;
    if (!others.some((o) => same(o, who))) others.push(who);
    return head.participants.length + 1 + others.findIndex((o) => same(o, who));
  }

  function drawHead() {
    const parked = head.channels.filter((c) => !head.participants.some((p) => p.channel === c.key));
    update(facts, isGone ? badge('error', 'deleted') : badge(head.state), h('span', null, many(head.count, 'message')), head.complete ? h('span', { class: 'tag' }, 'over') : null,
      head.lastTurn ? h('span', null, `turn ${count(head.lastTurn.turn)}: `, name(head.lastTurn.agent), ` ${head.lastTurn.end}`, head.lastTurn.why ? h('span', { class: 'bad' }, ': ', said(head.lastTurn.why)) : null) : null,
      h('span', { title: moment(head.changed) }, `changed ${since(head.changed)}`),
      parked.length ? h('span', { class: 'warn' }, `${many(parked.length, 'channel')} kept for agents that are missing: `, parked.map((c) => [name(c.kind), ' '])) : null);
  }

  function laneHead(p) {
    const channel = head.channels.find((c) => c.key === p.channel);
    const bar = h('span', { class: 'heard' }, h('span'));
    bar.firstChild.style.width = `${channel && head.count ? Math.min(100, (100 * channel.cursor) / head.count) : 0}%`;
    return h('div', { class: 'lane-head' }, h('b', null, name(p.name || p.id)),
      channel?.parked ? badge('waiting', 'parked') : null, p.here ? null : badge('error', 'not here'),
      h('span', { class: 'dim', title: channel ? plain(`channel ${channel.kind}`) : null }, !channel ? 'has not spoken' : channel.cursor >= head.count ? 'has heard all' : `has heard ${count(channel.cursor)} of ${count(head.count)}`), bar);
  }

  /** A message in its lane. One without anything to see is a line, so that none is missing. */
  function cell(m) {
    const lane = laneOf(m);
    const parts = m.contents.map((c) => partView(c, joined)).filter(Boolean);
    const number = h('span', { class: 'dim' }, m.turn ? `turn ${count(m.turn)} ` : '', `#${count(m.seq)}`);
    const results = m.contents.filter((c) => c.kind === 'result');
    const el = parts.length
      ? h('article', { class: `cell ${lane === 0 ? 'is-people' : lane === null ? 'is-system' : ''}`, 'data-seq': m.seq }, h('div', { class: 'who' }, name(m.author || (lane === null ? 'System' : m.role === 'user' ? 'Somebody' : m.role)), number), parts)
      : h('p', { class: 'cell is-note', 'data-seq': m.seq }, results.length ? ['result of ', results.map((c) => name(joined.links.get(c)?.name ?? 'a tool'))] : [name(m.author || m.role), ' said nothing that can be seen'], number);
    el.style.setProperty('--lane', lane === null ? '1 / -1' : String(lane + 1));
    return own(el);
  }

  function draw(messages) {
    joined = join(messages);
    const now = new Map();
    for (const m of messages) {
      const key = `${m.seq} ${laneOf(m)} ${m.contents.map((c) => (joined.links.has(c) ? 1 : 0)).join('')}`;
      now.set(key, drawn.get(key) ?? cell(m));
    }
    drawn = now;
    [...now.values()].forEach((el, i) => { el.style.gridRow = String(i + 1); }); // a row each, in the order of time
    update(cells, ...now.values());
    update(heads, h('div', { class: 'lane-head' }, h('b', null, 'People')), head.participants.map(laneHead),
      others.map((o) => h('div', { class: 'lane-head' }, h('b', null, name(o)), h('span', { class: 'dim' }, 'takes no part now'))));
    lanes.style.setProperty('--lanes', head.participants.length + 1 + others.length);
    drawTail();
  }

  function drawTail() {
    update(tail, sent?.text ? h('article', { class: 'cell is-people is-sent' }, h('div', { class: 'who' }, 'sending'), h('div', { class: 'said' }, said(sent.text))) : null,
      head.state === 'running' ? h('p', { class: 'at-work' }, h('span', { class: 'typing' }, 'at work', h('i'), h('i'), h('i'))) : null,
      win.items.length || sent ? null : h('div', { class: 'wide' }, empty('Nothing has been said yet', 'Write something below, and choose who answers.')));
    for (const el of tail.querySelectorAll('.is-sent')) el.style.setProperty('--lane', '1');
  }

  async function load() {
    if (isGone) return;
    try {
      const now = await get(at(path));
      const isOther = now.epoch !== head.epoch;
      head = now;
      if (isOther) { drawn.clear(); others = []; }
      const news = isOther || !win.items.length ? (await win.newest(), []) : await win.fresh();
      if (sent && hasCome(sent)) sent = null;
      if (unsure && hasCome(unsure)) {
        if (box.value.trim() === unsure.text) { box.value = ''; grow(); }
        unsure = null;
      }
      const last = news.at(-1);
      if (last) fill(heard, plain(`${last.author}: ${String(last.text ?? '').slice(0, 300)}`));
    } catch (why) {
      if (why.status !== 404) throw why;
      isGone = true;
      fill(write, 'This chat was deleted.');
      view.querySelector('.head').after(h('div', { class: 'notice bad', role: 'alert' }, 'This chat was deleted. What you see is what it was.', h('a', { class: 'button plain', href: link('chats') }, 'All chats')));
    }
    drawHead();
    draw(win.items);
  }

  // --- saying something, saving and restoring -------------------------------

  const grow = () => { box.style.height = 'auto'; box.style.height = `${Math.min(box.scrollHeight, 180)}px`; };
  const box = h('textarea', { rows: '1', 'aria-label': 'Message', placeholder: 'Write to the chat', 'data-search': true,
    onkeydown: (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); say(); } }, oninput: grow });
  const as = h('input', { 'aria-label': 'Your name', placeholder: 'Your name', size: '10', maxlength: '60' });
  const to = h('select', { 'aria-label': 'Who answers' }, h('option', { value: '*' }, 'everybody answers'), head.participants.filter((p) => p.here).map((p) => h('option', { value: p.name || p.id }, plain(`${p.name || p.id} answers`))), h('option', { value: '' }, 'nobody answers'));

  const write = h('form', { class: 'say chat-say', onsubmit: (e) => { e.preventDefault(); say(); } }, box, h('div', { class: 'row' }, as, to, h('button', { type: 'submit' }, 'Send')));

  const hasCome = ({ text, seq }) => win.items.some((m) => m.seq > seq && m.role === 'user' && !m.turn && text && m.text === text);

  async function say() {
    const text = box.value.trim();
    if (sent || (!text && !to.value)) return;
    const author = as.value.trim();
    const value = { ...(text ? { text } : {}), ...(author && text ? { author } : {}), ...(to.value && to.value !== '*' ? { to: to.value } : {}) };
    const body = JSON.stringify(value);
    // What is sent once more has to find the chat as it was: else it has come, or others spoke.
    const match = unsure?.text === text ? { 'If-Match': unsure.etag } : null;
    const mine = sent = match ? unsure : { text, seq: head.count, etag: head.etag };
    unsure = mine;
    box.value = '';
    grow();
    drawTail();
    win.toBottom();
    const latest = () => (win.atEnd ? load() : win.newest().then(load));
    try {
      await json('POST', at([...path, to.value ? 'turns' : 'messages']), { body: JSON.stringify(value), headers: { ...match, ...(to.value ? { Prefer: 'respond-async' } : {}) } });
      unsure = null;
      await latest().catch(fail);
      if (!text && sent === mine) sent = null;
    } catch (why) {
      if (sent === mine) sent = null;
      if (!box.value) box.value = text;
      grow();
      if (why.status === 412) await latest().catch(() => {});
      if (why.status !== 412 || unsure) fail(why);
      if (why.status === 412 || (!match && why.status > 0 && why.status < 500)) unsure = null; // it was not said, or is here
    }
    drawTail();
    // Whatever became of it, the next one may be written by then.
    setTimeout(() => { if (sent === mine) { sent = null; drawTail(); } }, 10000);
  }

  const file = h('input', { type: 'file', accept: '.json,application/json', hidden: true, onchange: () => restore() });
  async function restore() {
    const text = await file.files[0]?.text();
    file.value = '';
    if (text === undefined) return;
    const { etag } = head;
    try {
      const told = await json('PUT', at([...path, 'saved'], { dryRun: 'true' }), { body: text });
      const dialog = h('dialog', { class: 'ask wide-ask', 'aria-labelledby': 'restore-title' }, h('h2', { id: 'restore-title' }, 'What a restore would do'), report(told), h('div', { class: 'row end' },
        h('button', { type: 'button', class: 'plain', onclick: () => dialog.close() }, 'Leave it'), h('button', { type: 'button', onclick: () => dialog.close('yes') }, 'Restore')));
      dialog.addEventListener('close', async () => {
        dialog.remove();
        if (dialog.returnValue !== 'yes') return;
        try {
          await json('PUT', at([...path, 'saved']), { body: text, headers: { 'If-Match': etag } });
          drawn.clear();
          await win.newest();
          await load();
          toast('The chat is restored.');
        } catch (why) { fail(why); }
      });
      document.body.append(dialog);
      dialog.showModal();
    } catch (why) { fail(why); }
  }

  async function remove() {
    const { etag } = head; // of what whoever is asked has seen
    if (!await confirm('Delete this chat?', [name(id), ' and all that was said in it are gone then, for everybody.'], 'Delete it')) return;
    await send('DELETE', at(['sessions', id]), { headers: { 'If-Match': etag } });
    location.hash = link('chats');
  }

  if (!isCurrent()) return null;
  const form = h('select', { 'aria-label': 'Form of the saved chat' }, FORMS.map((f) => h('option', { value: f }, f)));
  const keep = button({ class: 'plain' }, () => save(at([...path, 'saved'], { form: form.value }), `${id}.json`), icon('file'), 'Save as');
  await load();
  if (!isCurrent()) return null;
  view.classList.add('is-chat');
  fill(view, h('div', { class: 'head' }, h('div', { class: 'title' }, h('a', { class: 'back', href: link('chats') }, 'Chats'), h('h1', null, name(id))),
    h('div', { class: 'row' }, keep, form, may('write') ? [h('button', { type: 'button', class: 'plain', onclick: () => file.click() }, 'Restore a file'), file, button({ class: 'plain' }, remove, 'Delete')] : null)), facts, lanes,
  may('run') ? write : null, heard);
  win.toBottom();
  const again = calm(() => load().catch((why) => isCurrent() && why.status !== 0 && fail(why)), 250);
  return { close: follow(() => 'events', { event: (e) => { try { if (e.event === 'list' || JSON.parse(e.data).id === id) again(); } catch { /* not ours */ } }, gone: (why) => fill(facts, trouble(why)) }) };
}
