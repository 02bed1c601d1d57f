// Files with history: the four operations of the contract, and what this host offers beside them.
import { ask, query, send } from './client';
import type { Difference, FileRow, Usage, Version, WorkspaceFile } from './shapes';

const TOP = '/v1/host/workspace';

/** How far back removed files are looked for. */
const EVENTS_BACK = 1000;

export interface Content {
  file: FileRow;
  /** Text where it is text; else nothing. */
  text: string | undefined;
  bytes: Uint8Array<ArrayBuffer>;
}

/** A folder that an agent or an app has on the host's machine. */
export interface AgentFolder {
  folder: string;
  workspace: string;
  path: string;
}

export const folders = {
  list: async () => (await ask<{ folders: AgentFolder[] }>('/workspace-folders')).folders,
  /** Shows it on the host's screen, where there is one; `opened` says whether. */
  open: (folder: string) => ask<{ path: string; opened: boolean }>(`/workspace-folders/${encodeURIComponent(folder)}/open`, { method: 'POST' }),
};

interface PolledEvents {
  events: { path: string; version: number }[];
  revision: number;
}

/** One workspace of the owner's. */
export class Workspace {
  constructor(readonly name: string) {}

  async list(): Promise<FileRow[]> {
    return (await this.ask<{ files: FileRow[] }>(`/files${query({ names: 'any' })}`)).files;
  }

  usage(): Promise<Usage> {
    return this.ask<Usage>(`/usage${query({ perFile: true })}`);
  }

  /** Files that are not there any more and can be brought back. */
  async removed(present: FileRow[], revision: number): Promise<string[]> {
    const after = Math.max(0, revision - EVENTS_BACK);
    const { events } = await this.ask<PolledEvents>(`/events/poll${query({ after, timeout: 0 })}`);
    const there = new Set(present.map((file) => file.path));
    return [...new Set(events.map((event) => event.path))].filter((path) => !there.has(path)).sort();
  }

  async read(path: string, version?: number): Promise<Content> {
    const address = `${TOP}/files/${encoded(path)}${query({ version, names: 'any', encoding: 'base64' })}`;
    const response = await send(address, { workspace: this.name });
    const { content, ...file } = (await response.json()) as WorkspaceFile;
    const isBase64 = response.headers.get('Roost-Encoding') === 'base64';
    const bytes = isBase64 ? fromBase64(content) : new TextEncoder().encode(content);
    return { file, text: textOf(bytes), bytes };
  }

  /** Writes a whole file; with an etag only over that version, with `null` only where there is none. */
  write(path: string, bytes: Uint8Array, contentType: string, etag?: string | null): Promise<FileRow> {
    const headers: Record<string, string> = {};
    if (etag) headers['If-Match'] = etag;
    if (etag === null) headers['If-None-Match'] = '*';
    const body = { content: toBase64(bytes), contentType };
    return this.ask(`/files/${encoded(path)}${query({ encoding: 'base64', names: 'any' })}`, { method: 'PUT', body, headers });
  }

  remove(path: string): Promise<void> {
    return this.ask(`/files/${encoded(path)}${query({ names: 'any' })}`, { method: 'DELETE' });
  }

  async history(path: string): Promise<Version[]> {
    return (await this.ask<{ versions: Version[] }>(`/history${query({ path })}`)).versions;
  }

  diff(path: string, from: number, to?: number): Promise<Difference> {
    return this.ask(`/diff${query({ path, from, to })}`);
  }

  restore(path: string, version: number): Promise<FileRow> {
    return this.ask('/restore', { method: 'POST', body: { path, version } });
  }

  undelete(path: string): Promise<FileRow> {
    return this.ask('/undelete', { method: 'POST', body: { path } });
  }

  async search(words: string): Promise<{ files: { path: string; matches: { line: number; text: string }[] }[]; truncated: boolean }> {
    return this.ask(`/search${query({ q: words, ignoreCase: true })}`);
  }

  async export(): Promise<Blob> {
    return (await send(`${TOP}/export`, { workspace: this.name })).blob();
  }

  private ask<T>(path: string, more: Parameters<typeof ask>[1] = {}): Promise<T> {
    return ask<T>(TOP + path, { ...more, workspace: this.name });
  }
}

/** Every part of a name decoded once on the other side. */
function encoded(path: string): string {
  return encodeURIComponent(path);
}

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  const piece = 0x8000;
  for (let at = 0; at < bytes.length; at += piece) text += String.fromCharCode(...bytes.subarray(at, at + piece));
  return btoa(text);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

const TYPES: Record<string, string> = {
  md: 'text/markdown',
  txt: 'text/plain',
  csv: 'text/csv',
  json: 'application/json',
  html: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  ts: 'text/typescript',
  py: 'text/x-python',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  zip: 'application/zip',
};

export function contentTypeOf(path: string): string {
  return TYPES[/\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''] ?? 'application/octet-stream';
}

/** A name that a client may give, from that of a file on this computer. */
export function nameFor(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._/-]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[^A-Za-z0-9]+/, '');
  return plain.slice(0, 200) || 'file';
}
