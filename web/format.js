// Numbers, sizes and times, as people read them.

const number = new Intl.NumberFormat('en');
export const count = (n) => (Number.isFinite(n) ? number.format(n) : '-');
export const many = (n, one, more) => `${count(n)} ${n === 1 ? one : more ?? one + 's'}`;

export function bytes(n) {
  if (!Number.isFinite(n)) return '-';
  if (n < 1000) return `${n} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = n / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit++; }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

const SPANS = [[60, 'second', 1], [3600, 'minute', 60], [86400, 'hour', 3600], [86400 * 60, 'day', 86400], [Infinity, 'month', 86400 * 30]];
const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

/** "3 min. ago", "in 13 days". */
export function since(text, now = Date.now()) {
  const ms = Date.parse(text);
  if (!Number.isFinite(ms)) return text ? String(text) : '-';
  const s = Math.round((ms - now) / 1000);
  if (Math.abs(s) < 5) return 'now';
  const [, unit, size] = SPANS.find(([most]) => Math.abs(s) < most);
  return ago.format(Math.round(s / size), unit);
}

/** The whole time, in the zone of whoever looks. */
export function moment(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? String(text ?? '-') : at.toLocaleString('sv-SE', { timeZoneName: 'short' });
}

export function clock(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? String(text ?? '') : at.toLocaleTimeString('en-GB');
}

/** The time of a day, with its date if it is not this one. */
export function when(text) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime()) || at.toDateString() === new Date().toDateString()) return clock(text);
  return at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: at.getFullYear() === new Date().getFullYear() ? undefined : 'numeric' }) + ', ' + clock(text).slice(0, 5);
}

export function took(ms) {
  if (!Number.isFinite(ms) || ms < 0) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

/** The first part of a long id. */
export const short = (id, n = 8) => (id && id.length > n ? id.slice(0, n) : id ?? '');
