// The insides of a line: code, emphasis, links.
import type { Inline } from './tree';

/** Emphasis inside emphasis beyond this is shown as it was written. */
const DEPTH_MAX = 8;

/** How far an end is looked for, and how many brackets may open on the way: text of nothing but marks costs little. */
const REACH = 2000;
const BRACKETS_MAX = 16;

const SPECIAL = /[\\`*_~[!<\n]|https?:\/\//g;
const ESCAPABLE = /^[!-/:-@[-`{-~]$/;

export function inline(text: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  let plain = '';
  let place = 0;
  const flush = () => {
    if (plain) parts.push({ kind: 'text', text: plain });
    plain = '';
  };
  while (place < text.length) {
    SPECIAL.lastIndex = place;
    const next = SPECIAL.exec(text);
    if (!next) break;
    plain += text.slice(place, next.index);
    place = next.index;
    const found = depth < DEPTH_MAX ? partAt(text, place, depth) : undefined;
    if (!found) {
      plain += text[place];
      place += 1;
    } else if (typeof found.part === 'string') {
      plain += found.part;
      place = found.end;
    } else {
      flush();
      parts.push(found.part);
      place = found.end;
    }
  }
  plain += text.slice(place);
  flush();
  return parts;
}

interface Found {
  part: Inline | string;
  end: number;
}

function partAt(text: string, place: number, depth: number): Found | undefined {
  switch (text[place]) {
    case '\\':
      return escaped(text, place);
    case '`':
      return code(text, place);
    case '*':
    case '_':
      return emphasis(text, place, depth);
    case '~':
      return text.startsWith('~~', place) ? wrapped(text, place, '~~', 'struck', depth) : undefined;
    case '!':
      // A picture would be fetched from elsewhere; its description and where it is are enough.
      return text[place + 1] === '[' ? link(text, place + 1, depth) : undefined;
    case '[':
      return link(text, place, depth);
    case '<':
      return bracketed(text, place);
    case '\n':
      return { part: { kind: 'break' }, end: place + 1 };
    default:
      return bare(text, place);
  }
}

function escaped(text: string, place: number): Found | undefined {
  const character = text[place + 1];
  return character !== undefined && ESCAPABLE.test(character) ? { part: character, end: place + 2 } : undefined;
}

function code(text: string, place: number): Found | undefined {
  const fence = /^`+/.exec(text.slice(place, place + 32))![0];
  let end = place + fence.length;
  for (;;) {
    end = text.indexOf(fence, end);
    if (end < 0) return undefined;
    if (text[end + fence.length] !== '`' && text[end - 1] !== '`') break;
    end += 1;
  }
  const inside = text.slice(place + fence.length, end).replaceAll('\n', ' ');
  const bared = /^ .*[^ ].* $/.test(inside) ? inside.slice(1, -1) : inside;
  return { part: { kind: 'code', text: bared }, end: end + fence.length };
}

function emphasis(text: string, place: number, depth: number): Found | undefined {
  const mark = text[place]!;
  const isDouble = text[place + 1] === mark;
  // In the middle of a word an underscore is part of a name.
  if (mark === '_' && /\w/.test(text[place - 1] ?? '')) return undefined;
  return isDouble
    ? (wrapped(text, place, mark + mark, 'strong', depth) ?? undefined)
    : wrapped(text, place, mark, 'emphasis', depth);
}

function wrapped(
  text: string,
  place: number,
  mark: string,
  kind: 'strong' | 'emphasis' | 'struck',
  depth: number,
): Found | undefined {
  const begin = place + mark.length;
  if (/^\s|^$/.test(text.slice(begin, begin + 1))) return undefined;
  let end = text.indexOf(mark, begin);
  while (end >= 0 && end - begin < REACH) {
    const isClosing = !/\s/.test(text[end - 1] ?? ' ') && end > begin && text[end - 1] !== '\\';
    const isWhole = mark.length > 1 || text[end + 1] !== mark[0];
    const isWordEnd = mark[0] !== '_' || !/\w/.test(text[end + mark.length] ?? '');
    if (isClosing && isWhole && isWordEnd) {
      const children = inline(text.slice(begin, end), depth + 1);
      return { part: { kind, children }, end: end + mark.length };
    }
    end = text.indexOf(mark, isWhole ? end + mark.length : end + 2);
  }
  return undefined;
}

function link(text: string, place: number, depth: number): Found | undefined {
  const close = closing(text, place, '[', ']');
  if (close < 0 || text[close + 1] !== '(') return undefined;
  const end = closing(text, close + 1, '(', ')');
  if (end < 0) return undefined;
  const inside = text.slice(close + 2, end).trim();
  const target = /^<?([^\s<>]*)>?(?:\s+["'(].*["')])?$/s.exec(inside)?.[1] ?? '';
  const label = text.slice(place + 1, close);
  const address = safeAddress(target);
  if (!address) return { part: label || target, end: end + 1 };
  // A link inside a link means nothing: its label is shown as text.
  const children = inline(label || target, depth + 1).flatMap((part) => (part.kind === 'link' ? part.children : [part]));
  return { part: { kind: 'link', address, children }, end: end + 1 };
}

/** Where the bracket that opens at `place` closes. */
function closing(text: string, place: number, open: string, close: string): number {
  let depth = 0;
  const last = Math.min(text.length, place + REACH);
  for (let at = place; at < last; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === open && ++depth > BRACKETS_MAX) return -1;
    else if (text[at] === close && --depth === 0) return at;
  }
  return -1;
}

function bracketed(text: string, place: number): Found | undefined {
  const found = /^<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/i.exec(text.slice(place, place + 2048));
  const address = found ? safeAddress(found[1]!) : undefined;
  if (!found || !address) return undefined;
  const label = found[1]!.replace(/^mailto:/i, '');
  return { part: { kind: 'link', address, children: [{ kind: 'text', text: label }] }, end: place + found[0].length };
}

function bare(text: string, place: number): Found | undefined {
  if (/\w/.test(text[place - 1] ?? '')) return undefined;
  let found = /^https?:\/\/[^\s<>"'`]{1,2000}/.exec(text.slice(place, place + 2048))?.[0];
  found = found?.replace(/[.,:;!?*_~)\]]+$/, (tail) => (tail.startsWith(')') && found?.includes('(') ? ')' : ''));
  const address = found ? safeAddress(found) : undefined;
  if (!found || !address) return undefined;
  return { part: { kind: 'link', address, children: [{ kind: 'text', text: found }] }, end: place + found.length };
}

/** An address that a click may open. Everything that could run, or that leads into this page, is none. */
export function safeAddress(text: string): string | undefined {
  if (!/^(https?:\/\/|mailto:)/i.test(text)) return undefined;
  try {
    const url = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}
