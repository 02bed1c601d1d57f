// The calling agent's own folder, for Node and Deno. Who the agent is comes from the host, which keeps a history of
// everything below the folder.

import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** Names the host keeps for itself: half-written files. */
const RESERVED_PREFIX = '.roost-';

const MIMES = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

/** The segments of a name; throws when it is none, or leads out. */
export function segmentsOf(name) {
  const segments = typeof name === 'string' ? name.replaceAll('\\', '/').split('/') : [''];
  const isWrong = (segment) =>
    segment === '' || segment === '.' || segment === '..' || segment.includes('\0') || segment.startsWith(RESERVED_PREFIX);
  if (segments.some(isWrong) || /^[A-Za-z]:/.test(name)) {
    throw Object.assign(new Error(`invalid_name: ${JSON.stringify(name)} is no name of a file in the workspace`), {
      reason: 'invalid_name',
    });
  }
  return segments;
}

/** What agents get as part of `roost`. `own` names the folder; `ask` asks the host. */
export function workspaceOf(data, own, ask) {
  const folder = path.join(data, 'workspaces', own);
  let writes = 0;

  function workspaceDir() {
    if (!fs.existsSync(folder)) fs.mkdirSync(folder, { mode: 0o700, recursive: true });
    return folder;
  }

  /** The place of a file. A link on the way could lead anywhere, so there must be none. */
  function placeOf(name) {
    const segments = segmentsOf(name);
    let place = workspaceDir();
    for (const segment of segments) {
      place = path.join(place, segment);
      if (fs.lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink()) {
        throw Object.assign(new Error(`invalid_name: ${JSON.stringify(name)} is a link`), { reason: 'invalid_name' });
      }
    }
    return place;
  }

  /** Every file as `{ name, size, mtime, mime }`, by name; names of files in folders have slashes. */
  function listFiles() {
    const found = [];
    const waiting = [''];
    while (waiting.length > 0) {
      const above = waiting.pop();
      for (const entry of fs.readdirSync(path.join(workspaceDir(), above), { withFileTypes: true })) {
        if (entry.name.startsWith(RESERVED_PREFIX)) continue;
        const name = `${above}${entry.name}`;
        if (entry.isDirectory()) waiting.push(`${name}/`);
        if (!entry.isFile()) continue;
        const status = fs.statSync(path.join(folder, name));
        const mime = MIMES[path.extname(name).slice(1).toLowerCase()] ?? 'application/octet-stream';
        found.push({ name, size: status.size, mtime: Math.floor(status.mtimeMs / 1000), mime });
      }
    }
    return found.sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  const readText = (name) => fs.readFileSync(placeOf(name), 'utf8');

  /** Puts a text into a file, whole, so that no reader ever sees half of it. Returns its path. */
  function writeText(name, content) {
    if (typeof content !== 'string') throw new TypeError('the content must be text');
    const place = placeOf(name);
    fs.mkdirSync(path.dirname(place), { mode: 0o700, recursive: true });
    writes += 1;
    const halfWritten = path.join(path.dirname(place), `${RESERVED_PREFIX}half-written-${process.pid}-${writes}`);
    try {
      fs.writeFileSync(halfWritten, content, { flag: 'wx', mode: 0o600 });
      fs.renameSync(halfWritten, place);
    } catch (error) {
      fs.rmSync(halfWritten, { force: true });
      throw error;
    }
    return place;
  }

  /** Asks the person for files: a promise of `{ names }` where there are some, else of `{ cancelled: true }`. */
  function requestFiles(prompt, patterns = []) {
    const wanted = (Array.isArray(patterns) ? patterns : [patterns]).map(String);
    return ask('workspace.request_files', { prompt: String(prompt), patterns: wanted });
  }

  return { workspaceDir, listFiles, readText, writeText, requestFiles };
}
