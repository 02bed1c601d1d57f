// From text to blocks. Reads each line once or twice, whatever is written there, and keeps no markup.
import { inline } from './inline';
import type { Block, Inline, Item } from './tree';

/** Quotes and lists inside each other beyond this are shown as they were written. */
const DEPTH_MAX = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,8})([-*+]|\d{1,9}[.)])(?:\s+(.*))?$/;
const TASK = /^\[([ xX])\]\s+/;
const DELIMITER = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

export function parse(text: string): Block[] {
  return blocks(text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n'), 0);
}

function blocks(lines: string[], depth: number): Block[] {
  const found: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    if (line.trim() === '') {
      at += 1;
      continue;
    }
    const [block, next] = blockAt(lines, at, depth);
    found.push(block);
    at = next;
  }
  return found;
}

function blockAt(lines: string[], at: number, depth: number): [Block, number] {
  const line = lines[at]!;
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence[1]!, fence[2] ?? '');
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: 'heading', level: heading[1]!.length, children: inline(heading[2]!) }, at + 1];
  if (RULE.test(line)) return [{ kind: 'rule' }, at + 1];
  if (depth < DEPTH_MAX && QUOTE.test(line)) return quoted(lines, at, depth);
  if (depth < DEPTH_MAX && ITEM.test(line)) return listed(lines, at, depth);
  if (line.includes('|') && DELIMITER.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-')) {
    const table = tabled(lines, at);
    if (table) return table;
  }
  return paragraph(lines, at);
}

function fenced(lines: string[], at: number, fence: string, language: string): [Block, number] {
  const isEnd = (line: string) => {
    const closing = line.trim();
    return closing.length >= fence.length && closing === fence[0]!.repeat(closing.length);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end]!)) end += 1;
  return [{ kind: 'code', language: language.slice(0, 40), text: lines.slice(at + 1, end).join('\n') }, end + 1];
}

function quoted(lines: string[], at: number, depth: number): [Block, number] {
  let end = at;
  while (end < lines.length && lines[end]!.trim() !== '' && (QUOTE.test(lines[end]!) || !startsBlock(lines[end]!))) end += 1;
  const inside = lines.slice(at, end).map((line) => line.replace(QUOTE, ''));
  return [{ kind: 'quote', children: blocks(inside, depth + 1) }, end];
}

function listed(lines: string[], at: number, depth: number): [Block, number] {
  const first = ITEM.exec(lines[at]!)!;
  const indent = first[1]!.length;
  const ordered = /\d/.test(first[2]!);
  const items: Item[] = [];
  let next = at;
  while (next < lines.length) {
    const found = ITEM.exec(lines[next]!);
    if (!found || found[1]!.length < indent || found[1]!.length > indent + 1 || /\d/.test(found[2]!) !== ordered) break;
    const inner = found[1]!.length + found[2]!.length + 1;
    const own = [found[3] ?? ''];
    next += 1;
    while (next < lines.length && belongs(lines, next, indent, inner)) {
      own.push(lines[next]!.slice(Math.min(inner, leading(lines[next]!))));
      next += 1;
    }
    while (own.length > 1 && own.at(-1)!.trim() === '') own.pop();
    const task = TASK.exec(own[0]!);
    if (task) own[0] = own[0]!.slice(task[0].length);
    items.push({ done: task ? task[1] !== ' ' : undefined, children: blocks(own, depth + 1) });
  }
  const start = ordered ? Number.parseInt(first[2]!, 10) : 1;
  return [{ kind: 'list', ordered, start, items }, next];
}

/** Whether a line is part of the item before it. */
function belongs(lines: string[], at: number, indent: number, inner: number): boolean {
  const line = lines[at]!;
  if (line.trim() === '') {
    const after = lines[at + 1];
    return after !== undefined && (leading(after) >= inner || (ITEM.exec(after)?.[1]?.length ?? -1) > indent + 1);
  }
  const item = ITEM.exec(line);
  if (item) return item[1]!.length > indent + 1;
  return leading(line) >= inner || (!startsBlock(line) && lines[at - 1]!.trim() !== '');
}

function leading(line: string): number {
  return line.length - line.trimStart().length;
}

function tabled(lines: string[], at: number): [Block, number] | undefined {
  const head = cells(lines[at]!);
  if (head.length !== cells(lines[at + 1]!).length) return undefined;
  const rows: Inline[][][] = [];
  let next = at + 2;
  while (next < lines.length && lines[next]!.includes('|')) {
    const row = cells(lines[next]!);
    rows.push(head.map((_, column) => inline(row[column] ?? '')));
    next += 1;
  }
  return [{ kind: 'table', head: head.map((cell) => inline(cell)), rows }, next];
}

function cells(line: string): string[] {
  const bare = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function paragraph(lines: string[], at: number): [Block, number] {
  let end = at + 1;
  while (end < lines.length && lines[end]!.trim() !== '' && !startsBlock(lines[end]!)) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join('\n');
  return [{ kind: 'paragraph', children: inline(text) }, end];
}

function startsBlock(line: string): boolean {
  const item = ITEM.exec(line);
  // Of numbers only 1 begins a list in the middle of a paragraph: a year at the start of a line does not.
  const beginsList = item !== null && item[3] !== undefined && (!/\d/.test(item[2]!) || /^1[.)]$/.test(item[2]!));
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || beginsList;
}
