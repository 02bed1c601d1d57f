// Notices what Deno refuses, and what the kernel refuses to Deno.
//
// Modules of Deno cannot be changed for those who import single names from them. But every refusal is an instance of
// one of two classes, whoever asked, so their making is what is watched: its message says what was refused.

import child_process from 'node:child_process';
import net from 'node:net';
import { tmpdir } from 'node:os';
import process from 'node:process';
import {
  couldNotLink, couldNotReach, failedOnPath, failedToSignal, isAllowed, lookedForVariable, started, starting, suspectForks,
  watch, watchBefore,
} from './watching.mjs';
import { watchNetwork } from './watching_network.mjs';

const REFUSED = { code: 'EACCES' };
/** Errors of the system that mean that a computer is out of reach, and look-ups that end nowhere. */
const OUT_OF_REACH = /os error (?:1|13|99|100|101|113)\)|failed to lookup address|no records found|Requires net access/;

/** The end of a message of the system: what was done to which path, or from which to which. */
const OPERATION = /\): (\w+) '(.*?)'(?: -> '(.*)')?$/s;
const READING = /^(?:read|stat|lstat|open|realpath)/;

/** Addresses that mean every address of this machine. */
const LISTENING = new Set(['::', '0.0.0.0']);

const { NotCapable, NotFound, PermissionDenied } = Deno.errors;

export function watchCalls({ isNetworkOpen }) {
  for (const refusal of [NotCapable, PermissionDenied]) watchMaking(refusal, understand);
  watchMaking(NotFound, understandMissing);
  // Programs can be started by functions that cannot be watched.
  suspectForks();
  watchBefore(child_process.ChildProcess.prototype, 'spawn', (child) => () => started(child.pid));
  for (const holder of [Deno, process]) {
    watch(holder, 'kill', (error, [pid]) => failedToSignal(pid, { code: error.code ?? codeOf(error) }));
  }
  watchVariables();
  watchListening();
  if (!isNetworkOpen) {
    watchNetwork();
    watchConnections();
  }
}

const codeOf = (error) => (error instanceof Deno.errors.NotFound ? 'ESRCH' : 'EACCES');

/** The base of a class is looked up whenever an instance is made. */
function watchMaking(refusal, understand) {
  const base = Object.getPrototypeOf(refusal);
  const noticing = function (...given) {
    const made = Reflect.construct(base, given, new.target);
    try {
      understand(String(given[0]));
    } catch {
      // Another version has other words; then nothing is noticed.
    }
    return made;
  };
  noticing.prototype = base.prototype;
  Object.setPrototypeOf(noticing, base);
  Object.setPrototypeOf(refusal, noticing);
}

function understand(message) {
  const [, access, target, place] = /^Requires (\w+) access to (?:"(.*)"|<(\w+)>),/s.exec(message) ?? [];
  if (access === 'net') {
    const [, host, port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(target);
    // Listening is no connection, and a name server is not what was asked for.
    if (!LISTENING.has(host) && port !== '53') couldNotReach(host, port);
  } else if (access === 'run') {
    starting(target);
  } else if (['read', 'write', 'all'].includes(access)) {
    failedOnPath(access === 'write' ? 'write' : 'read', target ?? (place === 'TMP' ? tmpdir() : '.'), REFUSED);
  } else {
    understandSystem(message);
  }
}

/** What the kernel refused: the operation and the path, where Deno knows them. */
function understandSystem(message) {
  if (message.startsWith('Deno.symlink')) {
    couldNotLink();
    return;
  }
  const program = /^Failed to spawn '(.*)':/s.exec(message)?.[1];
  if (program !== undefined) {
    starting(program);
    return;
  }
  const [, operation, path, second] = OPERATION.exec(message) ?? [];
  if (path === undefined) return;
  const isReading = READING.test(operation) && !isAllowed('read', path);
  for (const each of second === undefined ? [path] : [path, second]) {
    failedOnPath(isReading ? 'read' : 'write', each, REFUSED);
  }
}

/** What was not given does not exist here; what is missing where the agent may look is just missing. */
function understandMissing(message) {
  const [, operation, path] = OPERATION.exec(message) ?? [];
  if (path === undefined) return;
  const kind = READING.test(operation) ? 'read' : 'write';
  if (!isAllowed(kind, path)) failedOnPath(kind, path, REFUSED);
}

function watchVariables() {
  const { get, has } = Deno.env;
  Deno.env.get = (name) => {
    const value = get.call(Deno.env, name);
    if (value === undefined) lookedForVariable(name);
    return value;
  };
  Deno.env.has = (name) => {
    const isThere = has.call(Deno.env, name);
    if (!isThere) lookedForVariable(name);
    return isThere;
  };
}

/** Deno throws where nobody can catch it when it may not listen; Node has an event for it. */
function watchListening() {
  const { _listen2: listen } = net.Server.prototype;
  if (typeof listen !== 'function') return;
  net.Server.prototype._listen2 = function (...given) {
    try {
      return listen.apply(this, given);
    } catch (error) {
      process.nextTick(() => this.emit('error', error));
      return undefined;
    }
  };
}

function watchConnections() {
  for (const name of ['connect', 'connectTls']) {
    watch(Deno, name, (error, [{ hostname = '127.0.0.1', port, path }]) => {
      if (path === undefined && OUT_OF_REACH.test(error.message)) couldNotReach(hostname, port);
    });
  }
  watch(Deno, 'resolveDns', (error, [name]) => {
    if (OUT_OF_REACH.test(error.message)) couldNotReach(String(name), 0);
  });
  watch(globalThis, 'fetch', (error, [input]) => {
    if (!OUT_OF_REACH.test(`${error.message} ${error.cause?.message}`)) return;
    const url = new URL(typeof input === 'object' && 'url' in input ? input.url : input);
    couldNotReach(url.hostname.replace(/^\[|\]$/g, ''), url.port || (url.protocol === 'https:' ? 443 : 80));
  });
}
