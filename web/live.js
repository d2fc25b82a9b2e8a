// One stream a page. It goes on where it was; where events have no numbers, the
// page lists again. The badge says how fresh the page is.

import { events, Problem, send } from './api.js';

const STALE_MS = 40000; // the server pings every 15 seconds
const OPEN_MS = 15000; // that an attempt may take

let tell = () => {};
let owner = null; // the stream that the badge is about
/** Where the state is shown: fn('live' | 'reconnecting' | 'stale' | ''). */
export function whenState(fn) { tell = fn; }

/** Sleep, or less: a machine that is back on the net need not wait. */
function rest(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener('online', done);
    signal.addEventListener('abort', done);
  });
}

/**
 * Follow a stream. `path` is a function that gets the id of the last event.
 * on.event(event), on.again() each time that it is open: what changed before is
 * asked for then; on.gone(problem) when it will not go on. Gives a function
 * that ends it.
 */
export function follow(path, on) {
  const stop = new AbortController();
  const me = owner = {};
  let last = '';
  let heard = Date.now(); // the last sign of life
  let isOpen = false;
  let isOver = false;
  let tries = 0;
  let shown = '';

  function state() {
    if (owner !== me || isOver) return;
    const now = Date.now() - heard > STALE_MS ? 'stale' : isOpen ? 'live' : tries > 0 ? 'reconnecting' : '';
    if (now !== shown) { shown = now; tell(now); }
  }
  const watch = setInterval(state, 1000);

  /** What the page asks for then may fail for reasons of its own: try all of it again. */
  async function again() {
    try { await on.again?.(); } catch (why) { throw new Error(why.message); }
  }

  async function once() {
    const one = new AbortController();
    const end = () => one.abort();
    const began = Date.now();
    stop.signal.addEventListener('abort', end);
    const guard = setInterval(() => { if (Date.now() - (isOpen ? Math.max(heard, began) : began) > (isOpen ? STALE_MS : OPEN_MS)) end(); }, 1000);
    try {
      const reply = await send('GET', path(last), { signal: one.signal, headers: { Accept: 'text/event-stream' } });
      if (reply.status === 204) { over(null); return; }
      if (!/^text\/event-stream/.test(reply.headers.get('Content-Type') ?? '')) throw new Error('something else replied');
      isOpen = true;
      heard = Date.now();
      await again();
      tries = 0;
      state();
      await events(reply, (event) => {
        heard = Date.now();
        if (event === null) return;
        if (event.id) last = event.id;
        on.event(event);
      });
    } finally {
      end();
      isOpen = false;
      clearInterval(guard);
      stop.signal.removeEventListener('abort', end);
    }
  }

  function over(why) {
    isOver = true;
    clearInterval(watch);
    if (owner === me) tell(why ? 'stale' : '');
    if (why) on.gone?.(why);
  }

  async function loop() {
    while (!isOver && !stop.signal.aborted) {
      try {
        await once();
      } catch (why) {
        if (stop.signal.aborted) break;
        if (why instanceof Problem && [400, 401, 403, 404].includes(why.status)) over(why);
      }
      if (isOver || stop.signal.aborted) break;
      tries++;
      state();
      await rest(Math.min(5000, 250 * 2 ** Math.min(tries, 5)) * (0.7 + Math.random() * 0.6), stop.signal);
    }
    clearInterval(watch);
  }
  loop();
  return () => {
    stop.abort();
    clearInterval(watch);
    if (owner === me) { owner = null; tell(''); }
  };
}

/** Call `fn` at most every `ms`, and once more after the last call. */
export function calm(fn, ms) {
  let timer = 0;
  let again = false;
  const run = () => {
    timer = 0;
    if (!again) return;
    again = false;
    timer = setTimeout(run, ms);
    fn();
  };
  return () => {
    again = true;
    if (!timer) timer = setTimeout(run, 0);
  };
}
