// Takes `fetch`, `http` and `https` to the proxy that the environment names, so that agents need not know of it.
//
// Deno does so by itself once it is told to. Node does not: plain requests go to the proxy in its own form, everything
// else through a tunnel (CONNECT) that the proxy opens. Nothing is decided here; the proxy decides.

import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import process from 'node:process';
import tls from 'node:tls';

/** Longest answer to CONNECT: a status line and some headers. */
const ANSWER_BYTES_MAX = 16 << 10;
/** Where Node's fetch keeps what sends its requests. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/** Protocol → URL of its proxy, or undefined. */
let proxies = {};
/** Names that are reached without, as `{ name, port }`. */
let exceptions = [];
/** Trusts the usual authorities and the one of the environment; undefined when the usual ones will do. */
let secureContext;
let extraAuthority;

/** Reads the environment once; to be called before anything of the agent runs. */
export function useProxy(environment) {
  const value = (name) => environment[name] || environment[name.toLowerCase()];
  const authority = environment.NODE_EXTRA_CA_CERTS || environment.SSL_CERT_FILE;
  if (globalThis.Deno) {
    process.env.NODE_USE_ENV_PROXY = '1';
    if (authority) process.env.NODE_EXTRA_CA_CERTS = authority;
    return;
  }
  const url = (text) => (text ? new URL(text.includes('://') ? text : `http://${text}`) : undefined);
  proxies = { 'http:': url(value('HTTP_PROXY')), 'https:': url(value('HTTPS_PROXY')) };
  exceptions = (value('NO_PROXY') ?? '').split(/[\s,]+/).filter(Boolean).map(exception);
  if (authority) extraAuthority = readFileSync(authority, 'utf8');
  proxyPlainRequests();
  proxySecureRequests();
  proxyFetch();
}

function exception(text) {
  const [, name, port] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(text);
  return { name: name.toLowerCase(), port, isAll: text === '*' };
}

function proxyFor(protocol, host, port) {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  const isDirect = exceptions.some((one) => {
    const isNamed = name === one.name || name.endsWith(`.${one.name}`);
    return one.isAll || (isNamed && (one.port === undefined || one.port === String(port)));
  });
  return isDirect ? undefined : proxies[protocol];
}

const isProxyItself = (proxy, host, port) => proxy.hostname === host && Number(proxy.port || 80) === Number(port);

const authorityOf = (host, port) => `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;

const credentials = ({ username, password }) => {
  const both = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return username ? `Basic ${Buffer.from(both).toString('base64')}` : null;
};

// ---- tunnels ----

/** A connection to `host:port` that the proxy opened, given to `done(error, socket)`. */
function openTunnel(proxy, host, port, done) {
  const target = authorityOf(host, port);
  const socket = net.connect({ host: proxy.hostname, port: Number(proxy.port || 80) });
  let answer = Buffer.alloc(0);
  const finish = (error) => {
    for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener);
    if (error) socket.destroy();
    done(error, error ? null : socket);
  };
  const listeners = {
    error: finish,
    end: () => finish(tunnelError(target, 'the proxy closed the connection')),
    readable() {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        answer = Buffer.concat([answer, chunk]);
        const end = answer.indexOf('\r\n\r\n');
        if (end >= 0) {
          const status = answer.toString('latin1', 0, answer.indexOf('\r\n'));
          const isOpen = /^HTTP\/1\.[01] 2\d\d\b/.test(status);
          const rest = answer.subarray(end + 4);
          if (isOpen && rest.length > 0) socket.unshift(rest);
          finish(isOpen ? null : tunnelError(target, status));
          return;
        }
        if (answer.length > ANSWER_BYTES_MAX) {
          finish(tunnelError(target, 'the answer of the proxy has no end'));
          return;
        }
      }
    },
  };
  for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
  const secret = credentials(proxy);
  const authorization = secret === null ? '' : `Proxy-Authorization: ${secret}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
}

function tunnelError(target, why) {
  return Object.assign(new Error(`no tunnel to ${target}: ${why}`), { code: 'ERR_PROXY_TUNNEL' });
}

/** TLS over a socket that is already there. Own certificates of the caller come first. */
function secure(socket, options) {
  // In options of a request the path is what is asked for; here it would be a socket to connect to.
  const { path: _, ...rest } = options;
  const servername = options.servername || (net.isIP(options.host) ? '' : options.host);
  return tls.connect({ ...rest, ...trust(options), socket, servername });
}

function trust(options) {
  if (extraAuthority === undefined || options.ca || options.secureContext) return {};
  const ca = [...tls.rootCertificates, extraAuthority];
  if (['cert', 'key', 'pfx', 'ciphers', 'minVersion', 'maxVersion'].some((name) => options[name])) return { ca };
  secureContext ??= tls.createSecureContext({ ca });
  return { secureContext };
}

// ---- http and https ----

function proxyPlainRequests() {
  const { addRequest, getName } = http.Agent.prototype;
  http.Agent.prototype.addRequest = function (request, given, ...rest) {
    const options = typeof given === 'string' ? { host: given, port: rest[0], localAddress: rest[1] } : given;
    const host = options.host ?? options.hostname ?? 'localhost';
    const port = options.port ?? 80;
    const proxy = this.protocol === 'https:' || options.socketPath ? undefined : proxyFor('http:', host, port);
    const isDirect = proxy === undefined || isProxyItself(proxy, host, port) || !request.path.startsWith('/');
    if (isDirect) return addRequest.call(this, request, given, ...rest);
    const path = `http://${authorityOf(host, port).replace(/:80$/, '')}${request.path}`;
    // The first line may be written already.
    if (request._header) request._header = request._header.replace(` ${request.path} `, () => ` ${path} `);
    request.path = path;
    const secret = credentials(proxy);
    if (secret !== null && !request._header) request.setHeader('Proxy-Authorization', secret);
    const proxied = { ...options, host: proxy.hostname, port: Number(proxy.port || 80), proxiedTo: `${host}:${port}` };
    return addRequest.call(this, request, proxied);
  };
  // Connections are kept apart by what they were opened for.
  http.Agent.prototype.getName = function (options) {
    const name = getName.call(this, options);
    return options?.proxiedTo ? `${options.proxiedTo} by ${name}` : name;
  };
}

function proxySecureRequests() {
  const { createConnection } = https.Agent.prototype;
  https.Agent.prototype.createConnection = function (options, done) {
    const host = options.host ?? 'localhost';
    const port = options.port ?? 443;
    const proxy = options.socketPath || options.socket ? undefined : proxyFor('https:', host, port);
    if (proxy === undefined) return createConnection.call(this, options, done);
    openTunnel(proxy, host, port, (error, socket) => {
      if (error) done(error);
      else done(null, secure(socket, { ...options, host }));
    });
    return undefined;
  };
}

// ---- fetch ----

/** Only who fetches pays for what fetching needs. */
function proxyFetch() {
  const { fetch } = globalThis;
  let isReady = false;
  const prepare = () => {
    if (isReady) return;
    isReady = true;
    // A first request, to nowhere, makes Node load what sends requests.
    fetch('data:,').catch(() => {});
    const usual = globalThis[DISPATCHER];
    if (usual) globalThis[DISPATCHER] = dispatcher(usual.constructor);
  };
  globalThis.fetch = Object.defineProperties(function (...given) {
    prepare();
    return fetch(...given);
  }, Object.getOwnPropertyDescriptors(fetch));
  const { WebSocket } = globalThis;
  if (typeof WebSocket !== 'function') return;
  globalThis.WebSocket = new Proxy(WebSocket, {
    construct(target, given, newTarget) {
      prepare();
      return Reflect.construct(target, given, newTarget);
    },
  });
}

function dispatcher(Agent) {
  return new (class extends Agent {
    dispatch(options, receiver) {
      const { protocol, hostname, host, port } = new URL(options.origin);
      const proxy = options.upgrade || protocol !== 'http:' ? undefined : proxyFor(protocol, hostname, port || 80);
      if (proxy === undefined || !options.path.startsWith('/')) return super.dispatch(options, receiver);
      const extra = { host };
      const secret = credentials(proxy);
      if (secret !== null) extra['proxy-authorization'] = secret;
      const path = `${protocol}//${host}${options.path}`;
      const headers = withHeaders(options.headers, extra);
      return super.dispatch({ ...options, origin: proxy.origin, path, headers }, receiver);
    }
  })({ connect });
}

/** Headers may be a flat list, pairs, or an object. */
function withHeaders(headers, extra) {
  if (!Array.isArray(headers)) return { ...extra, ...headers };
  return Array.isArray(headers[0]) ? [...headers, ...Object.entries(extra)] : [...headers, ...Object.entries(extra).flat()];
}

function connect({ hostname, host, protocol, port: given, servername }, done) {
  const name = (hostname ?? host).replace(/^\[|\]$/g, '');
  const port = Number(given) || (protocol === 'https:' ? 443 : 80);
  const ready = (socket, event) => {
    const failed = (error) => done(error);
    socket.setNoDelay(true).once('error', failed);
    socket.once(event, () => {
      socket.off('error', failed);
      done(null, socket);
    });
  };
  const options = { host: name, port, servername, ALPNProtocols: ['http/1.1'] };
  const proxy = proxyFor(protocol, name, port);
  const isDirect = proxy === undefined || isProxyItself(proxy, name, port);
  if (isDirect && protocol === 'https:') ready(secure(undefined, options), 'secureConnect');
  else if (isDirect) ready(net.connect({ host: name, port }), 'connect');
  else {
    openTunnel(proxy, name, port, (error, socket) => {
      if (error) done(error);
      else if (protocol === 'https:') ready(secure(socket, options), 'secureConnect');
      else done(null, socket);
    });
  }
}
