// How errors of an agent are told: to the host as a failure with a reason, to a person on standard error.

import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import process from 'node:process';

/** Longest message of a failure: it is shown to a person; the whole of it goes to standard error. */
const MESSAGE_CHARS_MAX = 8000;

/** What an agent's file is called in stack traces, and the converted module that really runs. */
export const source = { file: '', url: '', modulePath: '', moduleUrl: '' };

/** A failure as the protocol has it. */
export const failure = (reason, message, line) => ({ reason, message, line });

/** A class that cannot become an agent. */
export class Refusal extends Error {
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

export function complain(text) {
  try {
    process.stderr.write(`${text}\n`);
  } catch {
    // Nobody reads standard error any more; there is no other place to say so.
  }
}

export function messageOf(error) {
  let message;
  try {
    message = error instanceof Error ? String(error.message) : String(error);
  } catch {
    message = 'an error that cannot be shown as text';
  }
  for (const place of [source.moduleUrl, source.modulePath]) {
    if (place) message = message.replaceAll(place, source.file);
  }
  return message.length > MESSAGE_CHARS_MAX ? `${message.slice(0, MESSAGE_CHARS_MAX)}…` : message;
}

export function stackOf(error) {
  try {
    return typeof error?.stack === 'string' ? withOriginalLines(error.stack) : messageOf(error);
  } catch {
    return messageOf(error);
  }
}

let sourceMap = null;

/** A stack that names the agent's own lines. Node sees to that itself, Deno only for what it converts. */
function withOriginalLines(stack) {
  const places = [source.moduleUrl, source.modulePath];
  if (!places.some((place) => place && stack.includes(place))) return stack;
  const escaped = places.map((place) => place.replace(/[^\w/]/g, '\\$&'));
  return stack.replace(new RegExp(`(?:${escaped.join('|')}):(\\d+):(\\d+)`, 'g'), (place, line, column) => {
    sourceMap ??= readSourceMap();
    const { originalLine, originalColumn } = sourceMap.findEntry(line - 1, column - 1);
    return originalLine === undefined ? place : `${source.file}:${originalLine + 1}:${originalColumn + 1}`;
  });
}

function readSourceMap() {
  const [, encoded] = readFileSync(source.modulePath, 'utf8').split(/\n\/\/# sourceMappingURL=[^,]*,/);
  return new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString()));
}

/** The line of the agent's file that the stack names first. */
export function lineOf(error) {
  for (const line of stackOf(error).split('\n')) {
    for (const place of [source.file, source.url]) {
      const start = line.indexOf(`${place}:`);
      const number = start < 0 ? Number.NaN : Number.parseInt(line.slice(start + place.length + 1), 10);
      if (number > 0) return number;
    }
  }
  return undefined;
}

/** Why the file could not be imported. */
export function importFailure(error) {
  const message = messageOf(error).split('\n')[0];
  const isMissing =
    ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_UNKNOWN_BUILTIN_MODULE'].includes(error?.code) ||
    (error instanceof TypeError && /^(Module not found|Import "|Relative import path|Unable to load)/.test(message));
  if (!isMissing) return failure('import_failed', message, lineOf(error));
  const next = 'remove the import, or use a module that is built into the runtime (`node:…`)';
  return { ...failure('missing_module', message, lineOf(error)), next };
}
