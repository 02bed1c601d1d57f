// A home with a running host, a bare host page that is served by the test alone, a listener that must hear nothing, and
// a browser. Everything is on loopback, and only what was started here is ended here.
import { chromium } from 'playwright-core';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(fileURLToPath(import.meta.url), '../../..');
const TARGET = resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target');
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync',
];

const HOST_PAGE = `<!doctype html><title>host page</title><h1>Host</h1><div id="pages"></div>
<script type="module">
  import { mountPage, probeMode } from '/bridge.js';
  const { roost, token } = await (await fetch('/scene.json')).json();
  const api = (path, init = {}) =>
    fetch(roost + path, { ...init, headers: { ...init.headers, Authorization: 'Bearer ' + token } });
  window.secret = 'the host page has a secret';
  localStorage.setItem('secret', window.secret);
  window.mounted = {};
  window.states = [];
  window.notices = [];
  window.mountApp = async (id, mode, decide = {}) => {
    const frame = await mountPage({
      api, id, mode, base: roost, container: document.getElementById('pages'),
      consent: (ask) => {
        window.asked = ask;
        return Object.fromEntries(ask.map((one) => [one.right, decide[one.right] ?? decide.all ?? 'always']));
      },
      on: {
        state: (state, why) => window.states.push([id, state, why]),
        notify: (notice) => window.notices.push(notice),
      },
    });
    window.mounted[id] = frame;
    return { session: frame.session, url: frame.element.src, tier: frame.tier };
  };
  window.unmountApp = (id) => window.mounted[id].unmount();
  window.probe = () => probeMode({ base: roost });
  window.isReady = true;
</script>`;

/** Starts all of it, with these agents in the home. */
export async function scene(agents = {}) {
  const home = mkdtempSync(join(tmpdir(), 'roost-pages-'));
  const user = join(home, 'user');
  mkdirSync(join(home, 'agents'), { recursive: true });
  mkdirSync(user, { recursive: true });
  for (const [name, text] of Object.entries(agents)) writeFileSync(join(home, 'agents', name), text);
  const model = await scriptedModel();
  let details = {};
  const hostPage = createServer((request, response) => {
    const answers = {
      '/': ['text/html', HOST_PAGE],
      '/bridge.js': ['text/javascript', readFileSync(join(ROOT, 'web/bridge/bridge.js'))],
      '/scene.json': ['application/json', JSON.stringify(details)],
    };
    const [type, body] = answers[request.url] ?? ['text/plain', ''];
    const policy = `frame-src http://*.localhost:${details.port} http://127.0.0.1:${details.port}/mounted/`;
    response.writeHead(answers[request.url] ? 200 : 404, { 'Content-Type': type, 'Content-Security-Policy': policy });
    response.end(body);
  });
  await listen(hostPage);
  const origin = `http://127.0.0.1:${hostPage.address().port}`;
  const program = spawn(join(TARGET, 'debug/roost'), ['up', '--port', '0'], {
    env: { PATH: process.env.PATH, HOME: user, ROOST_HOME: home, RAPP_CORS_ORIGINS: origin,
      OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'scripted' },
    stdio: ['ignore', 'pipe', process.env.ROOST_SHOW_LOG ? 'inherit' : 'ignore'],
  });
  const [line] = await once(createInterface({ input: program.stdout }), 'line');
  const port = Number(line.split(':').pop());
  const roost = `http://127.0.0.1:${port}`;
  const token = readFileSync(join(home, 'run/owner.token'), 'utf8').trim();
  details = { roost, token, port };
  const heard = await outside();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, args: FLAGS,
  });

  const api = async (method, path, body, headers = {}) => {
    const sent = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
    const answer = await fetch(roost + path, {
      method, body: sent, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    });
    const text = await answer.text();
    return { status: answer.status, body: text && text.startsWith('{') ? JSON.parse(text) : text };
  };

  return {
    home, roost, port, token, origin, api, heard, browser, program,
    write: (path, content) => api('PUT', `/v1/host/workspace/files/${path}?names=any`, { content, contentType: 'text/plain' }),
    read: async (path) => (await api('GET', `/v1/host/workspace/files/${path}?names=any`)).body.content,
    /** Waits until something holds. */
    until: async (holds) => {
      for (let tries = 0; tries < 100; tries += 1) {
        if (await holds()) return;
        await new Promise((done) => setTimeout(done, 100));
      }
      throw new Error('it never came to be');
    },
    /** Makes a page app from its files. */
    make: async (manifest, files) => {
      const answer = await api('POST', '/v1/pages', {
        manifest: { name: manifest.id, version: '1.0.0', entry: 'index.html', ...manifest }, files,
      });
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    },
    /** A host page of its own, ready to mount. */
    open: async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(origin);
      await page.waitForFunction(() => window.isReady);
      page.appFrame = async (id) => {
        const handle = await page.waitForFunction((id) => window.mounted[id]?.element, id);
        return (await handle.asElement()).contentFrame();
      };
      return page;
    },
    close: async () => {
      await browser.close();
      const ended = once(program, 'exit');
      program.kill('SIGTERM');
      await ended;
      hostPage.close();
      heard.close();
      model.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A model that does what its user says: `call NAME {json}` calls a tool, anything else is said again. */
async function scriptedModel() {
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    response.setHeader('Content-Type', 'application/json');
    if (!request.url.endsWith('/chat/completions')) return response.end('{"data": [{"id": "scripted"}]}');
    const { messages } = JSON.parse(Buffer.concat(pieces).toString());
    const last = messages.at(-1);
    const call = last.role === 'user' && /^call (\S+) (.*)$/s.exec(last.content);
    const message = call
      ? { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: call[1], arguments: call[2] } }] }
      : { role: 'assistant', content: `heard: ${last.content}` };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.end(JSON.stringify({ id: 'x', object: 'chat.completion', model: 'scripted', usage, choices: [{ index: 0, message, finish_reason: call ? 'tool_calls' : 'stop' }] }));
  });
  await listen(server);
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

/** Listens for whatever gets out, by TCP and by UDP. */
async function outside() {
  const requests = [];
  const packets = [];
  const web = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(200, { 'Access-Control-Allow-Origin': '*' });
    response.end('heard');
  });
  web.on('upgrade', (request, socket) => {
    requests.push(`upgrade ${request.url}`);
    socket.destroy();
  });
  await listen(web);
  const datagrams = createSocket('udp4').on('message', (message) => packets.push(message.length));
  datagrams.bind(0, '127.0.0.1');
  await once(datagrams, 'listening');
  return {
    requests, packets, url: `http://127.0.0.1:${web.address().port}`, udp: datagrams.address().port,
    close: () => { web.close(); datagrams.close(); },
  };
}

const listen = (server) => new Promise((done) => server.listen(0, '127.0.0.1', done));
