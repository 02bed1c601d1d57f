// Requests of an agent under Node arrive at the proxy in the form it takes. Run with `node --test`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before, beforeEach } from 'node:test';
import { useProxy } from '../proxied.mjs';

const folder = mkdtempSync(join(tmpdir(), 'roost-proxied-'));
const seen = [];
const servers = [];

/** One certificate that is its own authority, for `secure.test`. */
function certificate() {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const name = ['-subj', '/CN=secure.test', '-addext', 'subjectAltName=DNS:secure.test'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert, ...name];
  execFileSync('openssl', made, { stdio: 'ignore' });
  return { key: readFileSync(key), cert: readFileSync(cert), file: cert };
}

function listen(server) {
  servers.push(server);
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
}

let plainPort;

before(async () => {
  const { key, cert, file } = certificate();
  const told = (request, response) => response.end(`${request.url} for ${request.headers.host}`);
  plainPort = await listen(http.createServer(told));
  const securePort = await listen(https.createServer({ key, cert }, told));
  const proxy = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.end(`proxied for ${request.headers.host}`);
  });
  proxy.on('connect', (request, client) => {
    seen.push(`CONNECT ${request.url}`);
    if (request.url.startsWith('denied.')) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    const server = net.connect(securePort, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      server.pipe(client).pipe(server);
    });
    for (const socket of [server, client]) socket.on('error', () => socket.destroy());
  });
  const url = `http://127.0.0.1:${await listen(proxy)}`;
  useProxy({ HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: 'localhost,127.0.0.1', SSL_CERT_FILE: file });
  syncBuiltinESMExports();
});

beforeEach(() => seen.splice(0));

after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true });
});

function get(module, url, options = {}) {
  return new Promise((resolve, reject) => {
    const request = module.get(url, options, async (response) => resolve((await response.toArray()).join('')));
    request.on('error', reject);
  });
}

const fetched = async (url) => (await fetch(url)).text();

test('plain requests name the whole address', async () => {
  assert.equal(await get(http, 'http://plain.test/a?b'), 'proxied for plain.test');
  assert.equal(await get(http, 'http://plain.test:81/', { agent: false }), 'proxied for plain.test:81');
  assert.equal(await get(http, 'http://plain.test/', { agent: new http.Agent() }), 'proxied for plain.test');
  assert.equal(await fetched('http://plain.test/c'), 'proxied for plain.test');
  const whole = ['/a?b', ':81/', '/', '/c'].map((rest) => `GET http://plain.test${rest}`);
  assert.deepEqual(seen, whole);
});

test('secure requests go through a tunnel, trusted by the authority of the environment', async () => {
  assert.equal(await get(https, 'https://secure.test/a'), '/a for secure.test');
  const agent = new https.Agent({ keepAlive: true });
  assert.equal(await get(https, 'https://secure.test/b', { agent }), '/b for secure.test');
  agent.destroy();
  assert.equal(await fetched('https://secure.test/c'), '/c for secure.test');
  assert.deepEqual(new Set(seen), new Set(['CONNECT secure.test:443']));
});

test('a certificate for another name is not believed', async () => {
  await assert.rejects(get(https, 'https://other.test/'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  await assert.rejects(fetched('https://other.test/'), (error) => error.cause.code === 'ERR_TLS_CERT_ALTNAME_INVALID');
});

test('what the proxy refuses fails with its answer', async () => {
  await assert.rejects(get(https, 'https://denied.test/'), /no tunnel to denied\.test:443: HTTP\/1\.1 403 Forbidden/);
  await assert.rejects(fetched('https://denied.test/'), (error) => error.cause.code === 'ERR_PROXY_TUNNEL');
});

test('exceptions are reached without the proxy', async () => {
  assert.equal(await get(http, `http://127.0.0.1:${plainPort}/a`), `/a for 127.0.0.1:${plainPort}`);
  assert.equal(await fetched(`http://127.0.0.1:${plainPort}/b`), `/b for 127.0.0.1:${plainPort}`);
  assert.deepEqual(seen, []);
});
