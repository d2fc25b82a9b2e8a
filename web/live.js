// One stream a page. It goes on where it was; where events have no numbers, the
// page lists again. The badge says how fresh the page is.

import { events, Problem, send } from './api.js';

const STALE_MS = 40000; // the server pings every 15 seconds

let tell = () => {};
/** Where the state is shown: fn('live' | 'reconnecting' | 'stale' | ''). */
export function whenState(fn) { tell = fn; }

/**
 * Follow a stream. `path` is a function that gets the id of the last event.
 * on.event(event), on.again() before it goes on, on.gone(problem) when it will
 * not. Gives a function that ends it.
 */
export function follow(path, on) {
  const stop = new AbortController();
  let last = '';
  let seen = Date.now();
  let tries = 0;
  let over = false;
  const watch = setInterval(() => {
    if (Date.now() - seen > STALE_MS) tell('stale');
  }, 1000);

  async function once() {
    const one = new AbortController();
    const end = () => one.abort();
    stop.signal.addEventListener('abort', end);
    const guard = setInterval(() => { if (Date.now() - seen > STALE_MS) end(); }, 1000);
    try {
      const reply = await send('GET', path(last), { signal: one.signal, headers: { Accept: 'text/event-stream' } });
      if (reply.status === 204) { over = true; return; }
      seen = Date.now();
      if (tries > 0) await on.again?.();
      tries = 0;
      tell('live');
      await events(reply, (event) => {
        seen = Date.now();
        if (event === null) return;
        if (event.id) last = event.id;
        on.event(event);
      });
    } finally {
      clearInterval(guard);
      stop.signal.removeEventListener('abort', end);
    }
  }

  async function loop() {
    tell('reconnecting');
    while (!over && !stop.signal.aborted) {
      try {
        await once();
      } catch (why) {
        if (stop.signal.aborted) break;
        if (why instanceof Problem && [401, 403, 404, 400].includes(why.status)) {
          over = true;
          on.gone?.(why);
          break;
        }
      }
      if (over || stop.signal.aborted) break;
      tries++;
      if (Date.now() - seen < STALE_MS) tell('reconnecting');
      await new Promise((done) => setTimeout(done, Math.min(5000, 250 * 2 ** Math.min(tries, 5)) * (0.7 + Math.random() * 0.6)));
    }
    clearInterval(watch);
  }
  loop();
  return () => { stop.abort(); clearInterval(watch); tell(''); };
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
