// A window on a long list: however long it is, as many items are in the page as
// a few screens hold; others are read when they come into sight.

import { trouble } from './app.js';
import { fill, h } from './dom.js';

const MOST = 240; // items that are in the page
const NEAR = 600; // pixels from the edge at which the next ones are read
const MANY = 4; // pages behind the end: then it begins anew there

/**
 * `scroll` holds `list`, whose children draw(items) makes. read(from, isBack)
 * gives {items, isAll}: a page in order, from number `from` on or back from
 * there; '' is the end. Items have a number, `seq`.
 */
export function long({ scroll, list, read, draw }) {
  const top = h('div', { class: 'edge' });
  const bottom = h('div', { class: 'edge' });
  let last = Promise.resolve(); // of what reads, one after the other
  let isBusy = false; // older() or newer() reads, or waits
  let sticks = true; // to the end, whatever grows
  const win = { items: [], atStart: true, atEnd: true, top, bottom, older, newer, toBottom,
    fresh: () => turn(fresh), newest: () => turn(newest),
    isAtBottom: () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 90 };

  /** What is read fits what was there when it was asked for: nobody changes that meanwhile. */
  function turn(fn) {
    const mine = last.then(fn);
    last = mine.catch(() => {});
    return mine;
  }

  function toBottom() {
    sticks = true;
    scroll.scrollTop = scroll.scrollHeight;
  }

  function show() {
    draw(win.items);
    fill(top, !win.items.length ? '' : win.atStart ? h('p', { class: 'dim' }, 'The beginning') : h('button', { type: 'button', class: 'link', onclick: older }, 'Earlier'));
    fill(bottom, win.atEnd ? '' : h('button', { type: 'button', class: 'link', onclick: newer }, 'Later'));
  }

  /** What is looked at stays where it is, whatever comes before it. */
  async function grow(edge, again, anchor, step) {
    if (isBusy) return;
    isBusy = true;
    try {
      await turn(() => put(anchor, step));
    } catch (why) { fill(edge, trouble(why, again)); }
    isBusy = false;
  }

  async function put(anchor, step) {
    const apply = await step();
    if (!apply) return;
    const el = anchor();
    const was = el?.getBoundingClientRect().top;
    apply();
    show();
    if (el?.isConnected) scroll.scrollTop += el.getBoundingClientRect().top - was;
  }

  function older() {
    if (win.atStart) return undefined;
    return grow(top, older, () => list.firstElementChild, async () => {
      if (win.atStart) return null;
      const more = await read(win.items[0].seq - 1, true);
      return () => {
        win.items = [...more.items, ...win.items];
        win.atStart = more.isAll || win.items[0].seq <= 1;
        if (win.items.length > MOST) { win.items = win.items.slice(0, MOST); win.atEnd = false; }
      };
    });
  }

  function newer() {
    if (win.atEnd) return undefined;
    return grow(bottom, newer, () => list.lastElementChild, async () => {
      if (win.atEnd) return null;
      const more = await read(win.items.at(-1).seq + 1, false);
      return () => {
        win.items = [...win.items, ...more.items];
        win.atEnd = more.isAll;
        if (win.items.length > MOST) { win.items = win.items.slice(-MOST); win.atStart = false; }
      };
    });
  }

  /** What came since the last item that is here; gives it. */
  async function fresh() {
    const news = [];
    if (!win.atEnd) return news;
    for (let page = 0; ; page++) {
      if (page === MANY) { await newest(); return win.items; }
      const more = await read((win.items.at(-1)?.seq ?? 0) + 1, false);
      const last = win.items.at(-1)?.seq ?? 0;
      const items = more.items.filter((x) => x.seq > last);
      win.items = [...win.items, ...items];
      if (win.items.length > MOST) { win.items = win.items.slice(-MOST); win.atStart = false; }
      news.push(...items);
      if (more.isAll) break;
    }
    const stay = win.isAtBottom();
    show();
    if (stay) toBottom();
    return news;
  }

  /** The end of the list, whatever is here. */
  async function newest() {
    const last = await read('', true);
    win.items = last.items;
    win.atStart = last.isAll || !last.items.length || last.items[0].seq <= 1;
    win.atEnd = true;
    show();
    toBottom();
  }

  // Heights are known when things are drawn: the end stays in sight until then.
  const sizes = new ResizeObserver(() => { if (sticks && win.atEnd) toBottom(); });
  sizes.observe(scroll);
  sizes.observe(list);
  scroll.addEventListener('scroll', () => {
    sticks = win.isAtBottom();
    if (scroll.scrollTop < NEAR) older();
    else if (scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR) newer();
  }, { passive: true });
  return win;
}
