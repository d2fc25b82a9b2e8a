// JSON whose text is not lost: numbers as they are spelled, members that stand
// there twice, the order of all of them. A value is what JSON.parse() would
// give, but objects have no prototype, so that no member has a special meaning.

/** A number that JavaScript cannot hold as it is spelled. */
export class Exact {
  constructor(text) { this.text = text; }
  valueOf() { return Number(this.text); }
  toString() { return this.text; }
  toJSON() { return Number(this.text); }
}

const sources = new WeakMap(); // of an object or array: the text that it was read from

const isBlank = (code) => code === 32 || code === 10 || code === 13 || code === 9;
export const blank = (text, i) => { while (isBlank(text.charCodeAt(i))) i++; return i; };

/** Where the string that begins at `i` ends. */
function pastString(text, i) {
  for (let end = text.indexOf('"', i + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let from = end;
    while (text[from - 1] === '\\') from--;
    if ((end - from) % 2 === 0) return end + 1;
  }
  throw new SyntaxError('a text without an end');
}

function pastWord(text, i) {
  let j = i;
  while (j < text.length && !' \t\r\n,]}'.includes(text[j])) j++;
  return j;
}

/** Where the value that begins at `i` ends; throws if it has no end. */
export function past(text, i) {
  const c = text[i];
  if (c === '"') return pastString(text, i);
  if (c !== '{' && c !== '[') return pastWord(text, i);
  let depth = 0;
  for (let j = i; j < text.length; j++) {
    const d = text[j];
    if (d === '"') j = pastString(text, j) - 1;
    else if (d === '{' || d === '[') depth++;
    else if ((d === '}' || d === ']') && --depth === 0) return j + 1;
  }
  throw new SyntaxError('brackets that are not closed');
}

const unquoted = (raw) => (raw.includes('\\') ? JSON.parse(raw) : raw.slice(1, -1));

/** The members of the object or array at `start`: [{key, at, end}]. */
export function members(text, start) {
  const out = [];
  const isObject = text[start] === '{';
  let i = blank(text, start + 1);
  while (i < text.length && text[i] !== '}' && text[i] !== ']') {
    let key = out.length;
    if (isObject) {
      const end = pastString(text, i);
      key = unquoted(text.slice(i, end));
      i = blank(text, blank(text, end) + 1);
    }
    const end = past(text, i);
    out.push({ key, at: i, end });
    i = blank(text, end);
    if (text[i] === ',') i = blank(text, i + 1);
  }
  return out;
}

const WORDS = { true: true, false: false, null: null };
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Read JSON; throws a SyntaxError. */
export function read(text) {
  let i = 0;
  const fail = () => { throw new SyntaxError(`not JSON at ${i}`); };
  const skip = () => { i = blank(text, i); return text[i]; };

  function value(depth) {
    const c = skip();
    const start = i;
    if (depth > 500) fail();
    if (c === '"') { i = pastString(text, i); return unquoted(text.slice(start, i)); }
    if (c === '[') {
      const out = [];
      i++;
      if (skip() === ']') i++;
      else for (;;) { out.push(value(depth + 1)); const d = skip(); i++; if (d === ']') break; if (d !== ',') fail(); }
      sources.set(out, text.slice(start, i));
      return out;
    }
    if (c === '{') {
      const out = Object.create(null);
      i++;
      if (skip() === '}') i++;
      else for (;;) {
        if (skip() !== '"') fail();
        const from = i;
        i = pastString(text, i);
        const key = unquoted(text.slice(from, i));
        if (skip() !== ':') fail();
        i++;
        out[key] = value(depth + 1);
        const d = skip();
        i++;
        if (d === '}') break;
        if (d !== ',') fail();
      }
      sources.set(out, text.slice(start, i));
      return out;
    }
    i = pastWord(text, i);
    const word = text.slice(start, i);
    if (Object.hasOwn(WORDS, word)) return WORDS[word];
    if (!NUMBER.test(word)) fail();
    const n = Number(word);
    return String(n) === word ? n : new Exact(word);
  }

  const out = value(0);
  if (skip() !== undefined) fail();
  return out;
}

/** A value as text, spelled as it was read. */
export function textOf(value) {
  if (value instanceof Exact) return value.text;
  if (value !== null && typeof value === 'object') return sources.get(value) ?? JSON.stringify(value);
  return JSON.stringify(value ?? null);
}

/** A value in a line of text: a string is itself, nothing is empty. */
export function str(value) {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : textOf(value);
}

export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Exact);
