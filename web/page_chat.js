// One chat: a lane for each agent, and one for people; who has heard how much.

import { at, get, json, send } from './api.js';
import { link, may, trouble } from './app.js';
import { badge, confirm, empty, fill, h, icon, name, said, toast } from './dom.js';
import { count, many, moment, since } from './format.js';
import { calm, follow } from './live.js';
import { chatMessage } from './shapes.js';
import { index, partView } from './talk.js';

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
  let messages = [];
  let hasMore = false;
  let sent = '';
  let isGone = false;
  const ctx = { calls: new Map(), results: new Map(), answers: new Map() };
  const facts = h('div', { class: 'facts' });
  const lanes = h('div', { class: 'lanes', role: 'log', 'aria-label': 'Messages, a lane for each agent', tabindex: '0' });
  const heard = h('div', { class: 'away', role: 'status' });

  const laneOf = (m) => (m.role === 'user' && !m.turn ? 0 : head.participants.findIndex((p) => same(p.name || p.id, m.author) || same(p.id, m.author)) + 1);

  function drawHead() {
    fill(facts, isGone ? badge('error', 'deleted') : badge(head.state), h('span', null, many(head.count, 'message')), head.complete ? h('span', { class: 'tag' }, 'over') : null,
      head.lastTurn ? h('span', null, `turn ${count(head.lastTurn.turn)}: `, name(head.lastTurn.agent), ` ${head.lastTurn.end}`, head.lastTurn.why ? h('span', { class: 'bad' }, ': ', said(head.lastTurn.why)) : null) : null,
      h('span', { title: moment(head.changed) }, `changed ${since(head.changed)}`));
  }

  function laneHead(p) {
    const channel = head.channels.find((c) => c.key === p.channel);
    return h('div', { class: 'lane-head' }, h('b', null, name(p.name || p.id)),
      channel ? h('span', { class: 'dim', title: `channel ${channel.kind}` }, channel.cursor >= head.count ? 'has heard all' : `has heard ${count(channel.cursor)} of ${count(head.count)}`) : h('span', { class: 'dim' }, 'has not spoken'),
      channel?.parked ? badge('waiting', 'parked') : null, p.here ? null : badge('error', 'not here'));
  }

  function draw() {
    const stay = lanes.scrollHeight - lanes.scrollTop - lanes.clientHeight < 90;
    const parked = head.channels.filter((c) => !head.participants.some((p) => p.channel === c.key));
    const n = head.participants.length + 1;
    lanes.style.setProperty('--lanes', n);
    const cells = messages.map((m) => {
      const lane = laneOf(m);
      const parts = m.contents.map((c) => partView(c, ctx)).filter(Boolean);
      if (!parts.length) return null;
      const el = h('article', { class: `cell ${lane === 0 ? 'is-people' : ''}`, 'data-seq': m.seq }, h('div', { class: 'who' }, name(m.author || (m.role === 'user' ? 'Somebody' : m.role)), h('span', { class: 'dim' }, m.turn ? `turn ${count(m.turn)}` : '', ` #${count(m.seq)}`)), parts);
      el.style.setProperty('--lane', lane + 1);
      return el;
    });
    const waiting = sent ? h('article', { class: 'cell is-people is-sent' }, h('div', { class: 'said' }, said(sent))) : null;
    const busy = head.state === 'running' ? h('p', { class: 'at-work' }, h('span', { class: 'typing' }, 'at work', h('i'), h('i'), h('i'))) : null;
    fill(lanes, h('div', { class: 'lane-heads' }, h('div', { class: 'lane-head' }, h('b', null, 'People')), head.participants.map(laneHead)),
      hasMore ? h('button', { type: 'button', class: 'link earlier', onclick: older }, 'Earlier') : null, cells, waiting, busy,
      messages.length || sent ? null : h('div', { class: 'wide' }, empty('Nothing has been said yet', 'Write something below, and choose who answers.')));
    if (parked.length) lanes.append(h('p', { class: 'wide dim' }, `${many(parked.length, 'channel')} kept for agents that are missing: `, parked.map((c) => [name(`${c.kind} `)])));
    if (stay) lanes.scrollTop = lanes.scrollHeight;
  }

  async function older() {
    try {
      const page = await get(at([...path, 'messages'], { backwards: 'true', from: messages[0].seq - 1, limit: PAGE }));
      const from = lanes.scrollHeight - lanes.scrollTop;
      messages = [...page.items.map(chatMessage).reverse(), ...messages];
      hasMore = page.next !== null;
      index(messages, ctx);
      draw();
      lanes.scrollTop = lanes.scrollHeight - from;
    } catch (why) { toast(why.message, true); }
  }

  async function load() {
    if (isGone) return;
    try {
      head = await get(at(path));
      if (!messages.length) {
        const page = await get(at([...path, 'messages'], { backwards: 'true', limit: PAGE }));
        messages = page.items.map(chatMessage).reverse();
        hasMore = page.next !== null;
      } else {
        for (let more = true; more;) {
          const page = await get(at([...path, 'messages'], { from: messages.at(-1).seq + 1, limit: PAGE }));
          const news = page.items.map(chatMessage).filter((m) => m.seq > messages.at(-1).seq);
          if (news.length) fill(heard, `${news.at(-1).author}: ${String(news.at(-1).text ?? '').slice(0, 300)}`);
          messages.push(...news);
          more = page.next !== null;
        }
      }
      if (messages.some((m) => m.text === sent)) sent = '';
      index(messages, ctx);
    } catch (why) {
      if (why.status !== 404) throw why;
      isGone = true;
      view.querySelector('.head').after(h('div', { class: 'notice bad', role: 'alert' }, 'This chat was deleted. What you see is what it was.', h('a', { class: 'button plain', href: link('chats') }, 'All chats')));
    }
    drawHead();
    draw();
  }

  // --- saying something, saving and restoring -------------------------------

  const box = h('textarea', { rows: '1', 'aria-label': 'Message', placeholder: 'Write to the chat', 'data-search': true,
    onkeydown: (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); say(); } },
    oninput: () => { box.style.height = 'auto'; box.style.height = `${Math.min(box.scrollHeight, 180)}px`; } });
  const as = h('input', { 'aria-label': 'Your name', placeholder: 'Your name', size: '10', maxlength: '60' });
  const to = h('select', { 'aria-label': 'Who answers' }, h('option', { value: '*' }, 'everybody answers'), head.participants.filter((p) => p.here).map((p) => h('option', { value: p.name || p.id }, `${p.name || p.id} answers`)), h('option', { value: '' }, 'nobody answers'));

  async function say() {
    const text = box.value.trim();
    if (!text && !to.value) return;
    const author = as.value.trim();
    const body = { ...(text ? { text } : {}), ...(author && text ? { author } : {}), ...(to.value && to.value !== '*' ? { to: to.value } : {}) };
    sent = text;
    box.value = '';
    draw();
    lanes.scrollTop = lanes.scrollHeight;
    try {
      await json('POST', at([...path, to.value ? 'turns' : 'messages']), { body: JSON.stringify(body), headers: to.value ? { Prefer: 'respond-async' } : {} });
      await load();
    } catch (why) {
      sent = '';
      box.value = text;
      draw();
      toast(`${why.message} ${why.hint ?? ''}`, true);
    }
  }

  const file = h('input', { type: 'file', accept: '.json,application/json', hidden: true, onchange: () => restore() });
  async function restore() {
    const text = await file.files[0]?.text();
    file.value = '';
    if (text === undefined) return;
    try {
      const told = await json('PUT', at([...path, 'saved'], { dryRun: 'true' }), { body: text });
      const dialog = h('dialog', { class: 'ask wide-ask', 'aria-labelledby': 'restore-title' }, h('h2', { id: 'restore-title' }, 'What a restore would do'), report(told), h('div', { class: 'row end' },
        h('button', { type: 'button', class: 'plain', onclick: () => dialog.close() }, 'Leave it'), h('button', { type: 'button', onclick: () => dialog.close('yes') }, 'Restore')));
      dialog.addEventListener('close', async () => {
        dialog.remove();
        if (dialog.returnValue !== 'yes') return;
        try {
          await json('PUT', at([...path, 'saved']), { body: text, headers: { 'If-Match': head.etag } });
          messages = [];
          await load();
          toast('The chat is restored.');
        } catch (why) { toast(`${why.message} ${why.hint ?? ''}`, true); }
      });
      document.body.append(dialog);
      dialog.showModal();
    } catch (why) { toast(`${why.message} ${why.hint ?? ''}`, true); }
  }

  async function remove() {
    if (!await confirm('Delete this chat?', `${id} and all that was said in it are gone then, for everybody.`, 'Delete it')) return;
    try { await send('DELETE', at(['sessions', id])); location.hash = link('chats'); } catch (why) { toast(`${why.message} ${why.hint ?? ''}`, true); }
  }

  if (!isCurrent()) return null;
  const form = h('select', { 'aria-label': 'Form of the saved chat', onchange: () => { save.href = `/api/v1/${at([...path, 'saved'], { form: form.value })}`; } }, FORMS.map((f) => h('option', { value: f }, f)));
  const save = h('a', { class: 'button plain', href: `/api/v1/${at([...path, 'saved'], { form: 'native' })}`, download: `${id.replace(/[^\w.-]+/g, '_')}.json` }, icon('file'), 'Save as');
  fill(view, h('div', { class: 'head' }, h('div', { class: 'title' }, h('a', { class: 'back', href: link('chats') }, 'Chats'), h('h1', null, name(id))),
    h('div', { class: 'row' }, save, form, may('write') ? [h('button', { type: 'button', class: 'plain', onclick: () => file.click() }, 'Restore a file'), file, h('button', { type: 'button', class: 'plain', onclick: remove }, 'Delete')] : null)), facts, lanes,
  may('run') ? h('form', { class: 'say chat-say', onsubmit: (e) => { e.preventDefault(); say(); } }, box, h('div', { class: 'row' }, as, to, h('button', { type: 'submit' }, 'Send'))) : null, heard);
  view.classList.add('is-chat');
  await load();
  lanes.scrollTop = lanes.scrollHeight;
  const again = calm(() => load().catch((why) => isCurrent() && toast(why.message, true)), 250);
  const stop = follow(() => 'events', { event: (e) => { try { if (e.event === 'session' && JSON.parse(e.data).id === id) again(); } catch { /* not ours */ } }, again, gone: (why) => fill(facts, trouble(why)) });
  return { close() { stop(); view.classList.remove('is-chat'); } };
}
