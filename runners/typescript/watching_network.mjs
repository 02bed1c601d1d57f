// Notices connections that come to nothing, under Node and Deno: both connect by way of these prototypes.

import dgram from 'node:dgram';
import dns from 'node:dns';
import { errorMonitor } from 'node:events';
import net from 'node:net';
import { failedOnSocket, failedToReach, watch, watchBefore } from './watching.mjs';

const LOOK_UPS = [
  'lookup', 'resolve', 'resolve4', 'resolve6', 'resolveAny', 'resolveCaa', 'resolveCname', 'resolveMx', 'resolveNaptr',
  'resolveNs', 'resolvePtr', 'resolveSoa', 'resolveSrv', 'resolveTxt',
];

/** A look-up also fails because no name server can be asked; Node and Deno say so in these words. */
const NO_NAME_SERVER = new Set(['ECONNREFUSED', 'UNKNOWN']);

export function watchNetwork() {
  watchBefore(net.Socket.prototype, 'connect', (socket, given) => {
    const { path, host, port } = targetOf(given);
    // Seeing an error is not dealing with it: it still ends the process when nobody does.
    socket.once(errorMonitor, (error) => {
      if (path === undefined) failedToReach(host, port, error);
      else failedOnSocket(path, error);
    });
  });
  for (const holder of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype]) {
    for (const name of LOOK_UPS) {
      watch(holder, name, (error, [host]) => {
        failedToReach(String(host), 0, NO_NAME_SERVER.has(error.code) ? { code: 'ENETUNREACH' } : error);
      });
    }
  }
  watchDatagrams();
}

/** What `net.Socket.connect` is asked for: its options, the same in an array, or a port or path and a host. */
function targetOf(given) {
  const [first, second] = Array.isArray(given[0]) ? given[0] : given;
  if (typeof first === 'object' && first !== null) {
    return { path: first.path ?? undefined, host: String(first.host ?? 'localhost'), port: first.port };
  }
  if (typeof first === 'string' && Number.isNaN(Number(first))) return { path: first };
  return { host: typeof second === 'string' ? second : 'localhost', port: first };
}

function watchDatagrams() {
  const watchErrors = (socket, host, port) => {
    socket.once(errorMonitor, (error) => failedToReach(host, port, error));
  };
  watchBefore(dgram.Socket.prototype, 'connect', (socket, [port, host]) => {
    watchErrors(socket, typeof host === 'string' ? host : 'localhost', port);
  });
  const destination = (given) => {
    // A part of the message may be named before the port.
    const portAt = given.slice(1, 4).every((value) => typeof value === 'number') && given.length > 3 ? 3 : 1;
    const host = given[portAt + 1];
    return { port: given[portAt], host: typeof host === 'string' ? host : 'localhost' };
  };
  watch(dgram.Socket.prototype, 'send', (error, given) => {
    const { host, port } = destination(given);
    failedToReach(host, port, error);
  });
  watchBefore(dgram.Socket.prototype, 'send', (socket, given) => {
    const { host, port } = destination(given);
    if (typeof given.at(-1) !== 'function' && socket.listenerCount(errorMonitor) === 0) watchErrors(socket, host, port);
  });
}
