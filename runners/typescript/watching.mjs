// Notices what the agent tries and may not do, so that the host can name the grant that would allow it.
//
// The kernel refuses; nothing is enforced here, and an agent that hides from this hides only what was refused to it.
// Errors are passed on as they are. A call that meets none of them costs nothing: only errors are looked at.

import { readlinkSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** Different things told of one call: enough for a person to see what is missing. */
const TRIED_MAX = 64;
/** Children remembered, so that one that is already gone is not taken for a stranger. */
const CHILDREN_MAX = 1024;

/** What every worker may read; the host's list is crates/runtime/src/sandbox/files.rs. */
const SYSTEM = [
  '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/opt', '/nix/store', '/etc/ssl/certs', '/dev/zero',
  '/dev/random', '/dev/urandom', '/sys/devices/system', '/proc',
];
const NOWHERE = '/dev/null';
/** As they were before anything was watched: looking at an error must not make another. */
const [plainRealpath, plainReadlink] = [realpathSync, readlinkSync];

const REFUSED = new Set(['EACCES', 'EPERM', 'EXDEV', 'ERR_ACCESS_DENIED']);
/** What was not given does not exist here. Whether it exists at all, the host knows. */
const NOT_SEEN = new Set([...REFUSED, 'ENOENT', 'ENOTDIR', 'EROFS']);
const UNREACHABLE = new Set([
  'EACCES', 'EPERM', 'ERR_ACCESS_DENIED', 'ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EAI_AGAIN',
  'EAI_FAIL', 'ENOTFOUND',
]);
/** A process that is not in this sandbox is not there, or not to be looked at. */
const NOT_OURS = new Set([...REFUSED, 'ENOENT', 'ESRCH']);

let readable = [];
let writable = [];
let mayStartPrograms = true;
let network = 'any';
let withheld = new Set();
let hasForked = false;
let areForksSuspected = false;
let tried = new Map();
const children = new Set();

/** Watches from now on. There is no way back, as long as the process lives. */
export async function begin(bounds) {
  if (!bounds.confined) return;
  writable = [...bounds.writable, NOWHERE];
  readable = [...SYSTEM, ...writable, ...bounds.readable, resolve(fileURLToPath(import.meta.url), '..')];
  mayStartPrograms = bounds.may_start_programs;
  network = bounds.network;
  withheld = new Set(bounds.withheld);
  const { watchCalls } = globalThis.Deno ? await import('./watching_deno.mjs') : await import('./watching_node.mjs');
  watchCalls({ isNetworkOpen: network === 'any' });
  if (withheld.size > 0) watchEnvironment();
}

/** What was refused since the last report, and whether a process was started; null when there was nothing. */
export function report() {
  if (tried.size === 0 && !hasForked) return null;
  const all = [...tried.values()];
  const noticed = { refused: all.filter((one) => !isPartOfAnother(one, all)), forked: hasForked };
  tried = new Map();
  hasForked = areForksSuspected;
  return noticed;
}

/** Looking up a computer is part of connecting to it, and looking at folders part of making something below them. */
function isPartOfAnother({ kind, target }, all) {
  if (kind === 'connect') return all.some((one) => one.kind === kind && one.target.startsWith(`${target}:`));
  return kind === 'read' && all.some((one) => one.kind === 'write' && isBelow(one.target, target));
}

function note(kind, target) {
  if (tried.size < TRIED_MAX) tried.set(`${kind} ${target}`, { kind, target });
}

// ---- files ----

const isBelow = (path, folder) => path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

export const isAllowed = (kind, path) => (kind === 'write' ? writable : readable).some((folder) => isBelow(path, folder));

/** The path as text, absolute; null for what is no path, such as an open descriptor. */
function absolute(path) {
  if (typeof path === 'string') return resolve(path);
  if (path instanceof URL) return fileURLToPath(path);
  return ArrayBuffer.isView(path) ? resolve(new TextDecoder().decode(path)) : null;
}

let isLooking = false;

/** A call on a path ended with an error. Looking at the path may end with another, which is not the agent's. */
export function failedOnPath(kind, given, error) {
  if (isLooking) return;
  isLooking = true;
  try {
    noteFailure(kind, absolute(given), error);
  } finally {
    isLooking = false;
  }
}

function noteFailure(kind, given, error) {
  let path = given;
  if (path === null) return;
  const owner = /^\/proc\/(\d+)(?:\/|$)/.exec(path)?.[1];
  if (owner !== undefined) {
    if (NOT_OURS.has(error.code) && !isOurs(Number(owner))) note('inspect', owner);
    return;
  }
  if (!NOT_SEEN.has(error.code)) return;
  // What the agent can write, it can make a link to somewhere else.
  if (isAllowed(kind, path)) path = realPath(path);
  if (!isAllowed(kind, path)) note(kind, path);
}

function realPath(path) {
  try {
    return plainRealpath(path);
  } catch {
    return linkedPath(path);
  }
}

/** Where a link leads that ends nowhere here. */
function linkedPath(path) {
  try {
    return resolve(dirname(path), plainReadlink(path));
  } catch {
    return path;
  }
}

// ---- network ----

const isOwn = (host) => ['localhost', '::1', ''].includes(host) || host.startsWith('127.');

/** A connection or a look-up ended with an error. */
export function failedToReach(host, port, error) {
  if (UNREACHABLE.has(error.code)) couldNotReach(host, port);
}

export function couldNotReach(host, port) {
  if (network === 'any' || (network === 'hosts' && isOwn(host))) return;
  const name = host.includes(':') ? `[${host}]` : host;
  note('connect', Number(port) > 0 ? `${name}:${port}` : name);
}

export function failedOnSocket(path, error) {
  if (REFUSED.has(error.code)) note('connect', `socket ${path.replace('\0', '@')}`);
}

// ---- processes ----

/** A program is about to be started. */
export function starting(program) {
  hasForked = true;
  const named = String(program);
  // What the agent can write, nobody executes.
  const isOwn = named.includes('/') && isAllowed('write', resolve(named));
  if (isOwn || !mayStartPrograms) note('start', named);
}

/** A link could not be made, wherever it was to lead. */
export const couldNotLink = () => note('write', 'a symbolic link');

/** Counts every call as one that started a program, if it may: some of them cannot be seen. */
export function suspectForks() {
  areForksSuspected = mayStartPrograms;
  hasForked = mayStartPrograms;
}

export function started(pid) {
  if (pid > 0 && children.size < CHILDREN_MAX) children.add(pid);
}

const isOurs = (pid) => pid === process.pid || children.has(pid);

/** A signal could not be sent. */
export function failedToSignal(pid, error) {
  if (pid > 1 && !isOurs(pid) && NOT_OURS.has(error.code)) note('signal', String(pid));
}

// ---- environment ----

export function lookedForVariable(name) {
  if (withheld.has(name)) note('variable', name);
}

/** The environment behaves as before; looking for a variable that was not given is noticed. */
function watchEnvironment() {
  process.env = new Proxy(process.env, {
    get(target, name) {
      const value = target[name];
      if (value === undefined) lookedForVariable(name);
      return value;
    },
    has(target, name) {
      const isThere = name in target;
      if (!isThere) lookedForVariable(name);
      return isThere;
    },
    getOwnPropertyDescriptor(target, name) {
      const found = Reflect.getOwnPropertyDescriptor(target, name);
      if (found === undefined) lookedForVariable(name);
      return found;
    },
    // Not by way of the proxy: the engine takes only whole descriptors, and would be given a part of one.
    set(target, name, value) {
      target[name] = value;
      return true;
    },
  });
}

// ---- wrapping ----

/** Shows `look` the error that a function ends with: thrown, rejected, or given to its callback. */
export function watch(holder, name, look) {
  const original = holder[name];
  if (typeof original !== 'function') return;
  const watched = function (...given) {
    const see = (error) => {
      try {
        look(error, given, this);
      } catch {
        // Odd arguments are the agent's affair: what it called has said so.
      }
    };
    const last = given.length - 1;
    const callback = given[last];
    const passed = [...given];
    if (typeof callback === 'function') {
      passed[last] = function (error, ...rest) {
        if (error instanceof Error) see(error);
        return callback.call(this, error, ...rest);
      };
    }
    let result;
    try {
      result = original.apply(this, passed);
    } catch (error) {
      see(error);
      throw error;
    }
    if (!(result instanceof Promise)) return result;
    return result.catch((error) => {
      see(error);
      throw error;
    });
  };
  Object.defineProperties(watched, Object.getOwnPropertyDescriptors(original));
  holder[name] = watched;
}

/** Runs `look` before a function of the agent's choice does its work. */
export function watchBefore(holder, name, look) {
  const original = holder[name];
  if (typeof original !== 'function') return;
  const watched = function (...given) {
    const after = look(this, given);
    const result = original.apply(this, given);
    after?.();
    return result;
  };
  Object.defineProperties(watched, Object.getOwnPropertyDescriptors(original));
  holder[name] = watched;
}
