// Pages with an agent behind them, and pages that a model makes: each message with the real host and the real agent.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scene } from './pages-scene.mjs';

const AGENT = `from agents.basic_agent import BasicAgent
from utils.workspace import workspace_dir


class Echo(BasicAgent):
    def __init__(self):
        self.name = "Echo"
        self.metadata = {"name": "Echo", "description": "Says it again.", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}
        super().__init__(self.name, self.metadata)

    def perform(self, **kwargs):
        if kwargs.get("action") == "keep":
            (workspace_dir() / "kept.txt").write_text(kwargs["text"])
            return "kept"
        if kwargs.get("action") == "fail":
            raise ValueError("as asked")
        return "echo: " + str(kwargs.get("text", ""))
`;

const PAGE = `<!doctype html><head><script>
  // Shims stand before the page's own scripts.
  window.hadStorage = (() => { try { localStorage.setItem('a', 'b'); return localStorage.getItem('a'); } catch (error) { return error.name; } })();
  window.envelopes = [];
  const waiting = new Map(); let number = 0;
  addEventListener('message', (event) => {
    const message = event.data;
    if (message.type === 'rapp:cartridge') window.envelopes.push(message);
    const key = message.rapp === 'result' ? 'own' : message.id;
    if (waiting.has(key)) { waiting.get(key)(message); waiting.delete(key); }
  });
  window.say = (message) => new Promise((done) => { number += 1; const id = 'm' + number; waiting.set(id, done); parent.postMessage({ ...message, id }, '*'); });
  window.sayOwn = (message) => new Promise((done) => { waiting.set('own', done); parent.postMessage({ ...message, id: 7 }, '*'); });
</script></head><body>x</body>`;

let at;
before(async () => {
  at = await scene({ 'echo_agent.py': AGENT });
  for (const mode of ['origin', 'opaque']) {
    await at.make({ id: `cartridge-${mode}`, agent: 'Echo', permissions: { agents: ['*'], model: true, network: ['https://api.example.com'] } }, { 'index.html': PAGE });
  }
});
after(() => at?.close());

for (const mode of ['origin', 'opaque']) {
  test(`every message of the cartridge protocol is answered (${mode})`, async () => {
    const id = `cartridge-${mode}`;
    const page = await at.open();
    await page.evaluate(([id, mode]) => window.mountApp(id, mode), [id, mode]);
    const frame = await page.appFrame(id);
    await frame.waitForFunction(() => window.envelopes.length > 0);
    const say = (message) => frame.evaluate((message) => window.say(message), message);
    const [first] = await frame.evaluate(() => window.envelopes);
    assert.equal(first.schema, 'rapp-cartridge/1.0');
    assert.equal(first.rapp.id, id);
    assert.deepEqual(first.capabilities, { can_invoke_agent: true, can_proxy_fetch: true, can_post_chat: true });
    assert.deepEqual(Object.keys(first.context).sort(), ['env', 'origin', 'session', 'tether', 'user', 'workspace']);
    assert.match(first.context.session.id, /^vbs-/);
    assert.ok(first.context.workspace.available && first.context.workspace.path.includes('echo_agent'));
    assert.ok(!JSON.stringify(first).includes(at.token));
    assert.equal(await frame.evaluate(() => window.hadStorage), 'b');

    const plain = ({ type, id, ...rest }) => rest;
    const invoked = await say({ type: 'rapp:invoke', args: { text: 'hello' } });
    assert.equal(invoked.type, 'rapp:invoke:result');
    assert.deepEqual(plain(invoked), { result: 'echo: hello' });
    assert.deepEqual(plain(await say({ type: 'rapp:invoke', args: 'no object' })), { result: 'echo: ' });
    assert.match((await say({ type: 'rapp:invoke', args: { action: 'fail' } })).error, /as asked/);
    const own = await frame.evaluate(() => window.sayOwn({ rapp: 'invoke', action: 'say', args: { text: 'dialect' } }));
    assert.deepEqual(own, { rapp: 'result', id: 7, result: 'echo: dialect' });

    assert.deepEqual(plain(await say({ type: 'rapp:chat', message: 'good day' })), { reply: 'heard: good day' });
    assert.deepEqual(plain(await say({ type: 'rapp:chat', message: ' ' })), { error: 'empty message' });

    assert.deepEqual(plain(await say({ type: 'rapp:fetch', url: 'https://other.example.com/' })), { error: 'Permission denied' });
    for (const url of [`${at.roost}/health`, 'http://127.0.0.1/', 'http://localhost/', at.heard.url, 'http://169.254.169.254/']) {
      const fetched = await say({ type: 'rapp:fetch', url });
      assert.ok(fetched.error && fetched.status === undefined, url);
    }
    assert.deepEqual(at.heard.requests, []);
    const health = await frame.evaluate(() => fetch('/health').then((answer) => answer.json()));
    assert.equal(health.status, 'ok');
    const chat = await frame.evaluate(() => fetch('http://localhost:7071/chat', { method: 'POST', body: JSON.stringify({ user_input: 'by fetch' }) }).then((answer) => answer.json()));
    assert.equal(chat.response, 'heard: by fetch');
    assert.equal(await frame.evaluate(() => fetch('/login').then((answer) => answer.status)), 404);

    const workspace = (verb, fields = {}) => say({ type: `rapp:workspace:${verb}`, ...fields }).then(plain);
    assert.deepEqual(await workspace('write', { name: `w-${mode}.txt`, content: 'écrit', encoding: 'utf-8' }), { ok: true, name: `w-${mode}.txt`, size: 6 });
    assert.deepEqual(await workspace('read', { name: `w-${mode}.txt` }), { content: 'écrit', encoding: 'utf-8', mime: 'text/plain' });
    assert.equal(readFileSync(join(at.home, `.brainstem_data/workspaces/echo_agent/w-${mode}.txt`), 'utf8'), 'écrit');
    await say({ type: 'rapp:invoke', args: { action: 'keep', text: 'from the agent' } });
    const { files } = await workspace('list');
    assert.ok(files.some((file) => file.name === 'kept.txt' && file.size === 14 && file.mime === 'text/plain' && Number.isInteger(file.mtime)), JSON.stringify(files));
    await workspace('write', { name: 'b.bin', content: '/wD/', encoding: 'base64' });
    assert.deepEqual(await workspace('read', { name: 'b.bin' }), { content: '/wD/', encoding: 'base64', mime: 'application/octet-stream' });
    assert.deepEqual(await workspace('delete', { name: 'b.bin' }), { ok: true });
    assert.deepEqual(await workspace('delete', { name: 'b.bin' }), { error: 'not found' });
    for (const name of ['', '..', '../x', '/etc/passwd', 'a/b', 'C:x', undefined]) {
      assert.deepEqual(await workspace('read', { name }), { error: 'invalid_name' }, String(name));
    }
    assert.deepEqual(await workspace('request_files', { prompt: 'a list, please', patterns: ['*.csv'] }), { cancelled: true });
    assert.ok((await at.api('GET', '/workspace-requests')).body.requests.some((one) => one.prompt === 'a list, please'));
    assert.equal((await workspace('reveal')).ok, true);
    assert.deepEqual(await workspace('open_in_finder'), { error: 'not_supported' });
    assert.match((await workspace('explode')).error, /unknown/);
  });
}

test('a page whose rights were denied gets no agent and no model', async () => {
  await at.make({ id: 'denied', agent: 'Echo', permissions: { agents: ['*'], model: true } }, { 'index.html': PAGE });
  const page = await at.open();
  await page.evaluate(() => window.mountApp('denied', 'origin', { all: 'deny' }));
  const frame = await page.appFrame('denied');
  await frame.waitForFunction(() => window.envelopes.length > 0);
  for (const message of [{ type: 'rapp:invoke', args: {} }, { type: 'rapp:chat', message: 'x' }]) {
    assert.equal((await frame.evaluate((message) => window.say(message), message)).error, 'Permission denied');
  }
});

test('a model asks for a page, a person approves it, and it writes a file that has a history', async () => {
  const manifest = { id: 'made-here', name: 'Made here', version: '1.0.0', entry: 'index.html', permissions: { vfs: { write: ['/apps/made-here/data/*'] } } };
  const files = { 'index.html': '<!doctype html><script src="../_sdk/reploid-app-sdk.js"></script><script>reploid.vfs.write("/apps/made-here/data/a.txt", "hello").then(() => { document.title = "written"; });</script>' };
  const asked = await at.api('POST', '/chat', { user_input: `call CreateApp ${JSON.stringify({ manifest, files })}` });
  assert.match(asked.body.response, /Waiting for a person/);
  assert.equal((await at.api('GET', '/v1/pages/made-here')).status, 404);
  const { approvals } = (await at.api('GET', '/v1/approvals')).body;
  assert.deepEqual(approvals.map((one) => [one.action, one.page]), [['create', 'made-here']]);
  assert.match(approvals[0].asks[0], /apps\/made-here\/data/);
  const forged = await fetch(`${at.roost}/v1/approvals/${approvals[0].id}/approve`, { method: 'POST' });
  assert.equal(forged.status, 403);
  assert.equal((await at.api('POST', `/v1/approvals/${approvals[0].id}/approve`)).body.page, 'made-here');
  assert.equal((await at.api('POST', `/v1/approvals/${approvals[0].id}/approve`)).status, 404);
  const page = await at.open();
  const { session } = await page.evaluate(() => window.mountApp('made-here', 'origin'));
  const frame = await page.appFrame('made-here');
  await frame.waitForFunction(() => document.title === 'written');
  const { run } = (await at.api('GET', `/v1/pages/sessions/${session}`)).body;
  const history = JSON.stringify((await at.api('GET', '/v1/host/workspace/history?path=apps/made-here/data/a.txt')).body);
  assert.ok(history.includes('page:made-here') && history.includes(run), history);
  const made = JSON.stringify((await at.api('GET', '/v1/host/workspace/history?path=apps/made-here/index.html')).body);
  assert.ok(made.includes('CreateApp') && made.includes('run_'), made);
  const denied = await at.api('POST', '/chat', { user_input: 'call DeleteApp {"id": "made-here"}' });
  assert.match(denied.body.response, /Waiting for a person/);
  const [waiting] = (await at.api('GET', '/v1/approvals')).body.approvals;
  assert.equal((await at.api('POST', `/v1/approvals/${waiting.id}/deny`)).status, 200);
  assert.equal((await at.api('GET', '/v1/pages/made-here')).status, 200);
  const bad = await at.api('POST', '/chat', { user_input: 'call CreateApp {"manifest": {"id": "X"}, "files": {}}' });
  assert.match(bad.body.response, /id/);
  assert.deepEqual((await at.api('GET', '/v1/approvals')).body.approvals, []);
});
