// The public API, and nothing else: what this page can do, any program can.

import { read } from './json.js';

export const ROOT = '/api/v1';

/** What went wrong, in words for people. */
export class Problem extends Error {
  constructor(status, slug, text, hint) {
    super(text);
    this.status = status;
    this.slug = slug;
    this.hint = hint;
  }
}

const HINTS = {
  unauthorized: 'Log in with a key of this server.',
  forbidden: 'The key that you use may not do this.',
  'not-found': 'It may have been deleted, or belong to another tenant.',
  'version-conflict': 'Somebody changed it in the meantime. Look at what is there now, then try again.',
  'session-busy': 'A run is at work on it. Wait for its end, or cancel it.',
  quota: 'Wait a moment, then try again.',
  unavailable: 'The server stops, or its store is busy. Try again in a moment.',
};

let onLogin = () => {};
/** Called when a key is needed. */
export function whenLocked(fn) { onLogin = fn; }

/** What a reply that is none of ours means. */
async function problemOf(reply) {
  const text = await reply.text().catch(() => '');
  let body = null;
  try { body = JSON.parse(text); } catch { /* another program replied */ }
  const slug = String(body?.type ?? '').replace('/problems/', '');
  if (reply.status === 401 && !reply.url.endsWith('/ui/login')) onLogin();
  if (!body?.title && !body?.detail) {
    return new Problem(reply.status, '', `The server replied with status ${reply.status}, and not with JSON.`,
      'Something between this page and the server may have replied instead.');
  }
  return new Problem(reply.status, slug, body.detail ?? body.title, HINTS[slug]);
}

export const offline = () => new Problem(0, 'offline', 'The server does not answer.', 'Is it running? This page tries again by itself.');

/** Send a request; gives the reply, or throws a Problem. */
export async function send(method, path, { body, headers, signal, type } = {}) {
  let reply;
  try {
    reply = await fetch(path.startsWith('/') ? path : `${ROOT}/${path}`, {
      method, body, signal, credentials: 'same-origin', cache: 'no-store',
      headers: { 'X-Perdure-UI': '1', ...(body !== undefined ? { 'Content-Type': type ?? 'application/json' } : {}), ...headers },
    });
  } catch (why) {
    if (why.name === 'AbortError') throw why;
    throw offline();
  }
  if (!reply.ok && reply.status !== 304) throw await problemOf(reply);
  return reply;
}

export async function json(method, path, opts) {
  const reply = await send(method, path, opts);
  if (reply.status === 204 || reply.status === 304) return null;
  const text = await reply.text();
  try {
    return read(text);
  } catch {
    throw new Problem(reply.status, '', 'The server sent something that is not JSON.',
      'Something between this page and the server may have replied instead.');
  }
}

export const get = (path, opts) => json('GET', path, opts);
export const post = (path, value, opts) => json('POST', path, { body: JSON.stringify(value ?? {}), ...opts });

/** Save what a path gives as a file: a link could not send what a cookie needs. */
export async function save(path, name) {
  const reply = await send('GET', path);
  const url = URL.createObjectURL(await reply.blob());
  const a = document.createElement('a');
  a.href = url;
  a.download = name.replace(/[^\w.-]+/g, '_');
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/**
 * A path of parts, each as it has to be spelled there; what is undefined or
 * empty is left out of a query. A browser would take "." and ".." for folders,
 * however they are spelled: such an id or key goes into the query.
 */
export function at(parts, query) {
  const all = { ...query };
  const path = parts.map((part, i) => {
    if (part !== '.' && part !== '..') return encodeURIComponent(part.toWellFormed?.() ?? part);
    all[i === 1 ? 'id' : parts[2] === 'bag' ? 'key' : 'run'] = part;
    return '';
  }).join('/');
  const pairs = Object.entries(all).filter(([, v]) => v !== undefined && v !== null && v !== '');
  return pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path;
}

/** A new name that nobody else has; crypto.randomUUID() wants HTTPS. */
export function unique() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, '0')).join('');
}

/** Read a body piece by piece as lines of server-sent events; `on` gets each. */
export async function events(reply, on) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let event = { data: '' };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    on(null); // a sign of life
    rest += value;
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (event.data) on(event);
        event = { data: '' };
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
      if (field === 'data') event.data += (event.data ? '\n' : '') + text;
      else event[field] = text;
    }
  }
}
